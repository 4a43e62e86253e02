# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the escape tests, and the table at the end of the run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import arena as arenas


@pytest.fixture(scope="session", autouse=True)
def _servers_end_cleanly() -> Iterator[None]:
    yield
    for one in arenas.running.values():
        one.end()
    arenas.running.clear()


@pytest.fixture(params=arenas.MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def arena(mode: str) -> arenas.Arena:
    return arenas.arena_of(mode)


@pytest.fixture
def battle(arena: arenas.Arena) -> Iterator[arenas.Arena]:
    """For attacks that disturb: all that the server owns is counted after each."""
    yield arena
    arena.is_as_before()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        for one in arenas.running.values():
            if one.server.log.exists() and (text := one.server.read_log()):
                report.sections.append((f"log of the {one.mode} server", text[-4000:]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not arenas.rows:
        return
    terminalreporter.section("attacks")
    for (number, title), row in sorted(arenas.rows.items()):
        seen = " ".join(sorted(row["seen"]))
        if len(seen) > 60:
            seen = seen[:57] + "..."
        terminalreporter.write_line(
            f"{number:5} {title[:52]:52} expected {row['expected'][:44]:44} seen {seen}"
        )
    terminalreporter.write_line(f"{len(arenas.rows)} attacks")
