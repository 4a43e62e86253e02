# SPDX-License-Identifier: Apache-2.0
"""What a policy says when it refuses: the rule, the line, and what would be allowed."""

from __future__ import annotations

import sys
from typing import NoReturn

from ..sealed import __builtins__  # noqa: F401

_frame = sys._getframe


class PolicyViolation(BaseException):
    """Not an Exception: `except Exception` in a cell is meant for other things."""

    def __init__(self, rule: str, line: int, what: str, allowed: str) -> None:
        self.rule, self.line, self.what, self.allowed = rule, line, what, allowed
        where = f"line {line}: " if line else ""
        super().__init__(f"{rule}: {where}{what}; {allowed}")


PolicyViolation.__module__ = "builtins"  # tracebacks name it as plainly as other errors

# The first refusal of the running cell. A cell that catches it has still tried.
_first: list[PolicyViolation] = []


def refuse(rule: str, what: str, allowed: str, line: int = 0) -> NoReturn:
    """Raises, and remembers. The line is that of the user's code that is running, if not given."""
    violation = PolicyViolation(rule, line or _user_line(), what, allowed)
    if not _first:
        _first.append(violation)
    raise violation


def take_first() -> PolicyViolation | None:
    """The first refusal since the last call."""
    return _first.pop() if _first else None


def _user_line() -> int:
    frame = _frame(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<cell "):
            return frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return 0
