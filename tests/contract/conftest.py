# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the contract tests: one server for all of them, and servers for those that end it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from isolations import ISOLATIONS, missing
from served import Server, Session
from server_fixtures import *  # noqa: F403


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The shared one. Tests leave it as they found it; it must end cleanly after all of them."""
    with Server().must_end_cleanly() as one:
        yield one


@pytest.fixture(params=ISOLATIONS)
def isolation(request: pytest.FixtureRequest) -> str:
    """Of the sessions that `create` makes."""
    name = str(request.param)
    needed = [one for mark in request.node.iter_markers("needs") for one in mark.args]
    if lacks := missing(name, tuple(needed)):
        pytest.skip(f"{name} has no {', '.join(lacks)}")
    return name


@pytest.fixture
def session_fields(isolation: str) -> dict[str, Any]:
    return {"isolation": isolation}


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
