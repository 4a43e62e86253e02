# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the contract tests: one server for all of them, and servers for those that end it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from served import Server, Session

_shared: list[Server] = []


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The shared one. Tests leave it as they found it; it must end cleanly after all of them."""
    one = Server()
    _shared.append(one)
    with one.must_end_cleanly():
        yield one


@pytest.fixture
def create(server: Server) -> Iterator[Callable[..., Session]]:
    """Makes sessions that end with the test."""
    made: list[Session] = []

    def one(**fields: object) -> Session:
        made.append(server.create(**fields))
        return made[-1]

    yield one
    for session in made:
        assert session.delete().status in (204, 404)


@pytest.fixture
def session(create: Callable[..., Session]) -> Session:
    return create()


@pytest.fixture
def start_server() -> Iterator[Callable[..., Server]]:
    """Starts servers for this test alone: for those that end."""
    started: list[Server] = []

    def start(*options: str, **more: Any) -> Server:
        started.append(Server(*options, **more))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.fixture(scope="module")
def neighbour(server: Server) -> Iterator[tuple[Session, int]]:
    session = server.create(name="neighbour")
    session.run("mark = 'still here'")
    yield session, server.front()
    session.delete()


@pytest.fixture
def undisturbed(server: Server, neighbour: tuple[Session, int]) -> Iterator[None]:
    """The front lives on in the same process, and a neighbour keeps its variable."""
    yield
    session, front = neighbour
    assert server.get("/health").body == b'{"status":"healthy"}'
    assert server.front() == front, "the front died and was replaced"
    assert session.value("mark") == "'still here'"


@pytest.fixture(scope="module")
def target(server: Server) -> Iterator[Session]:
    """Receives the bad requests; one session is enough, since none may reach it."""
    session = server.create()
    yield session
    session.delete()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        for one in _shared:
            if one.log.exists() and (text := one.read_log()):
                report.sections.append(("log of the server", text[-8000:]))
