# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the OpenEnv tests: real servers, as the contract tests start them.

`./dev test openenv` runs them with the stock clients in build/venv; a Python without those
leaves them out, and says so.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contract"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from served import Server

HAS_CLIENTS = importlib.util.find_spec("openenv") is not None
if not HAS_CLIENTS:
    collect_ignore_glob = ["test_*.py"]

_shared: list[Server] = []


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The shared one. It must end cleanly after all tests."""
    one = Server()
    _shared.append(one)
    with one.must_end_cleanly():
        yield one
        assert "starting another" not in one.read_log(), f"the front fell:\n{one.read_log()}"


@pytest.fixture
def url(server: Server) -> str:
    return f"http://{server.host}"


@pytest.fixture
def start_server() -> Iterator[Callable[..., Server]]:
    """Starts servers for this test alone."""
    started: list[Server] = []

    def start(*options: str, **more: Any) -> Server:
        started.append(Server(*options, **more))
        return started[-1]

    yield start
    logs = [one.read_log() for one in started]
    for one in started:
        one.end()
    assert not any("ended by signal 6" in log or "ended by signal 11" in log for log in logs), logs


def pytest_report_header() -> str:
    if HAS_CLIENTS:
        return f"OpenEnv's stock clients: openenv-core {version('openenv-core')}"
    return "OpenEnv tests are left out: this Python has no openenv-core; use ./dev test openenv"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        for one in _shared:
            if one.log.exists() and (text := one.read_log()):
                report.sections.append(("log of the server", text[-8000:]))
