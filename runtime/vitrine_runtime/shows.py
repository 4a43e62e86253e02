# SPDX-License-Identifier: Apache-2.0
"""The end of an execution whose screen somebody wants to see: windows are painted, and kept painted
until the picture is taken. Event loops that would never return are ended by `loop_ender`."""

from __future__ import annotations

import time

from . import loops, toolkits
from .channel import Channel
from .execution import Execution
from .interrupts import Gate
from .loop_ender import BETWEEN, IN_PAINT, LoopEnder
from .loops import LoopEnded
from .sealed import __builtins__  # noqa: F401

MARGIN = 0.1  # seconds that the client has after render_ms
SLICE_MS = 2

ENDED = "the event loop was ended after the screenshot"
HELD_UP = "a callback took longer than the time for painting and was stopped"

_clock = time.monotonic


class Show:
    """Of one execution."""

    def __init__(self, channel: Channel, gate: Gate, execution: Execution, seconds: float) -> None:
        self._channel = channel
        self._native = channel.native
        self._execution = execution
        self._seconds = seconds
        self._painted: list[object] = []
        self.ender = LoopEnder(channel.native, gate, execution.id)

    def begin(self) -> None:
        """After the native side was told that the execution runs, before user code does."""
        loops.turns.clear()
        loops.strokes.clear()
        try:
            self.ender.start()
        except RuntimeError:  # no thread to be had: then nothing ends a loop but the time limit
            self._execution.note("no thread could be started: event loops are not ended")

    def code_over(self) -> None:
        """The code has returned or raised."""
        self.ender.enter(BETWEEN)
        self._native.untrip()
        if self.ender.has_ended:
            self._execution.note(ENDED)

    def paint(self) -> None:
        """Inside the gate: callbacks of user code run here. An interrupt ends it."""
        if self.ender.has_ended:
            return  # the client has its picture
        ender = self.ender
        until = _clock() + self._seconds
        ender.paint_until = until + MARGIN
        try:
            ender.enter(IN_PAINT)
            toolkits.refresh(until)
            self._tell()
            while not ender.stop_painting and _clock() < until + MARGIN:
                more = toolkits.step(toolkits.SLICE)
                if self._native.captured(self._execution.id, 0 if more else SLICE_MS):
                    break
        except KeyboardInterrupt as error:
            if type(error) is not LoopEnded:
                ender.has_struck = False
        finally:
            ender.enter(BETWEEN)
        self._native.untrip()
        if ender.has_struck:
            self._execution.note(HELD_UP)
        self._tell()

    def _tell(self) -> None:
        if not self._painted:
            self._channel.painted(self._painted, self._execution.id)
