# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the hostile tests: one server that takes all attacks, and a neighbour on it that
must not notice any of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contract"))

from hostile_attacks import HealthCheck, dripping_body, stalled_body
from served import Background, Server, Session
from server_fixtures import *  # noqa: F403


@pytest.fixture(scope="session")
def victim() -> Iterator[Server]:
    """The server under attack; it must end cleanly after all of it."""
    with Server().must_end_cleanly() as one:
        yield one


@pytest.fixture(scope="session")
def neighbour(victim: Server) -> Iterator[Session]:
    session = victim.create(name="neighbour")
    session.run("mark = 'still here'")
    yield session


@pytest.fixture(scope="session")
def stalled(victim: Server, neighbour: Session) -> Background:
    """A body that stops coming, from the first test on: it is noticed after half a minute."""
    return Background(lambda: stalled_body(victim, neighbour.path + "/exec"))


@pytest.fixture(scope="session")
def dripping(victim: Server, neighbour: Session) -> Background:
    return Background(lambda: dripping_body(victim, neighbour.path + "/exec"))


@pytest.fixture(autouse=True)
def health_check(
    victim: Server, neighbour: Session, stalled: Background, dripping: Background
) -> Iterator[HealthCheck]:
    """Whatever a test did: the same front answers, the neighbour is as it was, nothing is left."""
    one = HealthCheck(victim, neighbour, [stalled, dripping])
    yield one
    one.check()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long began with the first test and is looked at last."""
    items.sort(key=lambda item: item.path.name == "test_hostile_slow.py")
