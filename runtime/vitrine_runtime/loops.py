# SPDX-License-Identifier: Apache-2.0
"""What is known of event loops: the frames that sit in one, and how often a program turns its own.

Filled in by the hooks of the toolkits (`gui_*`), read by the thread that ends loops (`loop_ender`).
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from functools import wraps
from types import CodeType, FrameType
from typing import Any

from .sealed import __builtins__  # noqa: F401

OFTEN, WITHIN = 5, 0.5  # so many turns within so many seconds are a loop
LATELY = 2.0  # seconds: one turn, if the screen keeps changing

_clock = time.monotonic
_frames = sys._current_frames
_caller = sys._getframe


class LoopEnded(KeyboardInterrupt):
    """Raised in a loop that does not end when it is asked to. To user code it is a Ctrl-C."""


LoopEnded.__name__ = LoopEnded.__qualname__ = "KeyboardInterrupt"
LoopEnded.__module__ = "builtins"

blocking: set[CodeType] = set()  # functions that return when an event loop ends
turns: deque[float] = deque(maxlen=OFTEN)  # when user code last painted or looked for events
strokes: deque[float] = deque(maxlen=1)  # when a turtle last did: it may move unseen for long


def blocks(function: Callable[..., Any]) -> None:
    """The Python function `function` waits in an event loop."""
    code = getattr(function, "__code__", None)
    if code is not None:
        blocking.add(code)


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, one call of which is a turn of a loop that user code made itself."""
    turn, stroke = turns.append, strokes.append

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        drawing = _caller(1).f_globals.get("__name__") == "turtle"
        (stroke if drawing else turn)(_clock())
        return function(*arguments, **options)

    return call


def is_turning(painting: bool) -> bool:
    """Whether user code has a loop of its own that paints or looks for events."""
    now = _clock()
    if len(turns) == OFTEN and now - turns[0] < WITHIN:
        return True
    return painting and turned_since(now - LATELY)


def turned_since(then: float) -> bool:
    return any(last and last[-1] > then for last in (turns, strokes))


def frames_of(thread: int) -> list[FrameType]:
    """Innermost first."""
    found: list[FrameType] = []
    frame = _frames().get(thread)
    while frame is not None and len(found) < 1000:
        found.append(frame)
        frame = frame.f_back
    return found
