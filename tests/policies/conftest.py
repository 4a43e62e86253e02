# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the policies' tests: one server, and sessions of every policy on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contract"))

from features import POLICIES, fields_of
from served import Server, Session


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    one = Server("--pool", "2")
    with one.must_end_cleanly():
        yield one


@pytest.fixture
def create(server: Server) -> Iterator[Callable[..., Session]]:
    """Makes sessions that end with the test."""
    made: list[Session] = []

    def one(**fields: Any) -> Session:
        made.append(server.create(**fields))
        return made[-1]

    yield one
    for session in made:
        assert session.delete().status in (204, 404)


@pytest.fixture(params=POLICIES)
def any_policy(request: pytest.FixtureRequest, create: Callable[..., Session]) -> Session:
    """A session of each policy."""
    return create(policy=request.param)


@pytest.fixture
def restricted(create: Callable[..., Session]) -> Session:
    return create(policy="restricted")


@pytest.fixture
def agents(create: Callable[..., Session]) -> Session:
    return create(policy="smolagents")


@pytest.fixture(scope="module")
def asked(server: Server) -> Iterator[dict[str, Session]]:
    """One session of each policy for questions that leave nothing behind."""
    sessions = {policy: server.create(**fields_of(policy)) for policy in POLICIES}
    yield sessions
    for session in sessions.values():
        session.delete()
