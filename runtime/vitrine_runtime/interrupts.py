# SPDX-License-Identifier: Apache-2.0
"""Where an interrupt may strike: only between `open()` and `close()` of the gate. And where the end
of an event loop may, which comes the same way: only while `endable`.

The native handler trips Python's SIGINT while the execution it was meant for is running. The
Python-level handler below runs later, on the main thread, between two bytecodes, and asks the gate.
So there is no instant at which an interrupt can hit the runtime's own bookkeeping.
"""

from __future__ import annotations

from _signal import SIGINT, getsignal, signal
from collections.abc import Callable
from types import FrameType

from .loops import LoopEnded
from .sealed import __builtins__  # noqa: F401


class Gate:
    """State of one execution: may it be interrupted, and was it."""

    __slots__ = ("is_open", "hit", "early", "endable", "ending", "told_to_stop", "handler")

    def __init__(self) -> None:
        self.is_open = False
        self.hit = False
        self.early = False
        self.endable = False  # in code that may be in a loop
        self.ending = False  # the next SIGINT is there to end it
        self.told_to_stop: Callable[[], bool] | None = None
        self.handler = self._on_sigint  # bound once: compared by identity after every cell

    def install(self) -> None:
        signal(SIGINT, self.handler)

    def installed(self) -> bool:
        return getsignal(SIGINT) is self.handler

    def begin(self) -> None:
        """Before the native side is told that the execution starts."""
        self.hit = False
        self.early = False
        self.endable = self.ending = False

    def open(self) -> None:
        self.is_open = True
        if self.early:  # arrived while the execution was being prepared
            self.hit = True
            raise KeyboardInterrupt

    def close(self) -> None:
        self.is_open = False

    def _on_sigint(self, signum: int, frame: FrameType | None) -> None:
        if self.ending and not (self.told_to_stop is not None and self.told_to_stop()):
            self.ending = False
            if self.is_open and self.endable:
                raise LoopEnded
            return
        if self.is_open:
            self.hit = True
            raise KeyboardInterrupt
        self.early = True
