# SPDX-License-Identifier: Apache-2.0
"""As root both modes of a keeper are tested; without root the tests of the privileged one are
skipped. At the end of the run nothing of the shared keepers may be left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import client
from engine_keepers import (
    MODES,
    ROOT,
    KeeperProcess,
    eventually,
    nobody_left,
    running,
    shared_keeper,
)


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left_at_the_end() -> Iterator[None]:
    yield
    left = {mode: keeper.stop() for mode, keeper in running.items()}
    running.clear()
    assert all(verdict == (0, set()) for verdict in left.values()), left


@pytest.fixture
def mode() -> str:
    """The keeper's mode of a test that does not care; `both_modes` makes it run in each."""
    return MODES[0] if ROOT else MODES[1]


@pytest.fixture
def process(mode: str) -> Iterator[KeeperProcess]:
    """The shared keeper, which must survive the test."""
    shared = shared_keeper(mode)
    shared.skip_log()
    yield shared
    assert shared.alive(), "the keeper died"
    with shared.connect() as connection:
        assert eventually(lambda: nobody_left(connection)), "sessions do not end"


@pytest.fixture
def keeper(process: KeeperProcess) -> Iterator[client.Keeper]:
    """A connection to it. Sessions left open end with the test."""
    with process.connect() as connection:
        yield connection


@pytest.fixture
def session(keeper: client.Keeper) -> client.Session:
    """A session with nothing imported."""
    return keeper.create()


@pytest.fixture
def loaded(keeper: client.Keeper) -> client.Session:
    """A session with numpy, pandas and pyplot imported."""
    return keeper.create("loaded")


@pytest.fixture
def start_keeper(mode: str) -> Iterator[Callable[..., KeeperProcess]]:
    """Starts keepers for this test alone: for those that end, or need other options."""
    if mode == "root" and not ROOT:
        pytest.skip("needs root: the privileged keeper")
    started: list[KeeperProcess] = []

    def start(*options: str) -> KeeperProcess:
        started.append(KeeperProcess(mode, *options))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        for keeper in running.values():
            if text := keeper.read_log():
                report.sections.append((f"log of the {keeper.mode} keeper", text))
