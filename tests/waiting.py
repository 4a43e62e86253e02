# SPDX-License-Identifier: Apache-2.0
"""Waiting for what must happen. Nobody judges how long it takes: times are safety limits."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

SAFETY = 60.0  # seconds until a test is given up; nothing is expected to take this long


def within(condition: Callable[[], Any], seconds: float = SAFETY) -> Any:
    """The first true value of `condition`, or its last false one. For who says what is wrong, or
    goes on without it."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return value


def until(condition: Callable[[], Any], seconds: float = SAFETY, what: str = "") -> Any:
    """The first true value of `condition`. It fails if there is none."""
    if value := within(condition, seconds):
        return value
    if not what:
        try:
            what = inspect.getsource(condition).strip()
        except (OSError, TypeError):
            what = repr(condition)
    raise AssertionError(f"never happened in {seconds} s: {what}")
