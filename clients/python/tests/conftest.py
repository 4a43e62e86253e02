# SPDX-License-Identifier: Apache-2.0
"""One private server for all tests; it is started by the client's own `vitrine.local()`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import vitrine

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session", autouse=True)
def server() -> Iterator[vitrine.Server]:
    with vitrine.local(private=True, pool=2) as one:
        yield one


@pytest.fixture
def box(server: vitrine.Server) -> Iterator[vitrine.Sandbox]:
    with vitrine.Sandbox() as one:
        yield one


@pytest.fixture(scope="session")
def openenv_surface(server: vitrine.Server) -> str:
    """The server's address; it speaks OpenEnv."""
    answer = httpx.get(f"{server.url}/metadata", trust_env=False)
    assert answer.status_code == 200, answer.text
    return server.url
