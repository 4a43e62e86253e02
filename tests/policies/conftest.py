# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the policies' tests: one server, and sessions of every policy on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contract"))

from features import POLICIES, fields_of
from served import Server, Session
from server_fixtures import *  # noqa: F403


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server("--pool", "2").must_end_cleanly() as one:
        yield one


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
