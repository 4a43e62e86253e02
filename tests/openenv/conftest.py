# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the OpenEnv tests: real servers, as the contract tests start them.

`./dev test openenv` runs them with the stock clients in build/venv; a Python without those
leaves them out, and says so.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contract"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from served import Server
from server_fixtures import *  # noqa: F403

HAS_CLIENTS = importlib.util.find_spec("openenv") is not None
if not HAS_CLIENTS:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The shared one. It must end cleanly after all tests."""
    with Server().must_end_cleanly() as one:
        yield one
        assert "starting another" not in one.read_log(), f"the front fell:\n{one.read_log()}"


@pytest.fixture
def url(server: Server) -> str:
    return f"http://{server.host}"


def pytest_report_header() -> str:
    if HAS_CLIENTS:
        return f"OpenEnv's stock clients: openenv-core {version('openenv-core')}"
    return "OpenEnv tests are left out: this Python has no openenv-core; use ./dev test openenv"
