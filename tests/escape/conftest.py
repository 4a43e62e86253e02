# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the escape tests, and the table at the end of the run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import escape_server as servers


@pytest.fixture(scope="session", autouse=True)
def _servers_end_cleanly() -> Iterator[None]:
    yield
    for one in servers.running.values():
        one.end()
    servers.running.clear()


@pytest.fixture(params=servers.MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def escape_server(mode: str) -> servers.EscapeServer:
    return servers.escape_server_of(mode)


@pytest.fixture
def checked_server(escape_server: servers.EscapeServer) -> Iterator[servers.EscapeServer]:
    """For attacks that disturb: all that the server owns is counted after each."""
    yield escape_server
    escape_server.is_as_before()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        for one in servers.running.values():
            if one.server.log.exists() and (text := one.server.read_log()):
                report.sections.append((f"log of the {one.mode} server", text[-4000:]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not servers.rows:
        return
    terminalreporter.section("attacks")
    for (number, title), row in sorted(servers.rows.items()):
        seen = " ".join(sorted(row["seen"]))
        if len(seen) > 60:
            seen = seen[:57] + "..."
        terminalreporter.write_line(
            f"{number:5} {title[:52]:52} expected {row['expected'][:44]:44} seen {seen}"
        )
    terminalreporter.write_line(f"{len(servers.rows)} attacks")
