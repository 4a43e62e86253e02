# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the healing tests: a server whose front is killed again and again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from served import Background, Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Shared by one file only: its front is killed again and again."""
    with Server().must_end_cleanly() as one:
        yield one


@pytest.fixture(scope="session", autouse=True)
def stubborn_end() -> Iterator[Background]:
    """SIGTERM to a server whose code would run for minutes. It takes the whole drain time, so it
    goes on beside the other tests."""
    one = Server()
    session = one.create()
    task = session.background("import time; time.sleep(600)", timeout_s=500)
    verdict = Background(one.stop)
    yield verdict
    verdict.settle()
    task.settle()
    one.end()
