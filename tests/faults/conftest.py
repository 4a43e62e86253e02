# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the fault tests: keepers as root and as nobody, and the --long switch."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import keepers
from keepers import client


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes minutes; only with ./dev test --long")


@pytest.fixture(scope="session")
def long_run() -> bool:
    return os.environ.get("VITRINE_LONG", "") not in ("", "0")


@pytest.fixture(scope="module", params=keepers.USERS, ids=lambda uid: f"uid{uid}")
def keeper(request: pytest.FixtureRequest) -> Iterator[keepers.Process]:
    """One keeper for a whole file: its tests leave it as they found it, and check that."""
    with keepers.started(
        "--pool", "1", "--shells", "2", "--recycled", "0", uid=request.param
    ) as one:
        yield one


@pytest.fixture
def everything_as_before(keeper: keepers.Process) -> Iterator[None]:
    """What the keeper owns after the test is what it owned before."""
    keeper.wait_full()
    before = keeper.census()
    yield
    keeper.wait_same(before)


@pytest.fixture
def control(keeper: keepers.Process) -> Iterator[client.Keeper]:
    with keeper.connect() as connection:
        yield connection
        for session in connection.list():
            with contextlib.suppress(client.KeeperError):
                connection.attach(session).end()


@pytest.fixture
def neighbour(keeper: keepers.Process, control: client.Keeper) -> Iterator[client.Session]:
    """Another client's session, with something to lose."""
    with keeper.connect() as connection:
        session = connection.create("bare")
        assert session.run("mine = 'still here'").outcome == "ok"
        yield session
        assert session.run("mine").texts == ["'still here'"]
        assert connection.events == []
        session.end()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A failure shows what its keeper had to say."""
    outcome = yield
    report = outcome.get_result()
    if not report.failed:
        return
    for value in getattr(item, "funcargs", {}).values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, keepers.Process) and one.log.exists():
                report.sections.append(("the keeper's log", one.stderr[-4000:]))
