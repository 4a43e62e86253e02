# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the display's tests: one server, sessions that end with their test, pictures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "contract"))

from served import Server
from server_fixtures import *  # noqa: F403


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server().must_end_cleanly() as one:
        yield one
