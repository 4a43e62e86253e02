# SPDX-License-Identifier: Apache-2.0
"""Fixtures of every suite that talks to a `server`: sessions and servers that end with their test,
and the logs of the servers that run when one fails. For a conftest.py to import all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from served import Server, Session, running

__all__ = ["create", "pytest_runtest_makereport", "session", "session_fields", "start_server"]


@pytest.fixture
def session_fields() -> dict[str, Any]:
    """What `create` requests unless the test says otherwise; for folders to override."""
    return {}


@pytest.fixture
def create(server: Server, session_fields: dict[str, Any]) -> Iterator[Callable[..., Session]]:
    """Makes sessions that end with the test."""
    made: list[Session] = []

    def one(**fields: Any) -> Session:
        made.append(server.create(**{**session_fields, **fields}))
        return made[-1]

    yield one
    for session in made:
        assert session.delete().status in (204, 404)


@pytest.fixture
def session(create: Callable[..., Session]) -> Session:
    return create()


@pytest.fixture
def start_server() -> Iterator[Callable[..., Server]]:
    """Starts servers for this test alone: for those that end. None may crash."""
    started: list[Server] = []

    def start(*options: str, **more: Any) -> Server:
        started.append(Server(*options, **more))
        return started[-1]

    yield start
    logs = [one.read_log() for one in started if one.log.exists()]
    for one in started:
        one.end()
    assert not any("ended by signal 6" in log or "ended by signal 11" in log for log in logs), logs


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        for one in running:
            if one.log.exists() and (text := one.read_log()):
                report.sections.append((f"log of server {one.name}", text[-8000:]))
