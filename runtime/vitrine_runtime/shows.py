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
from .starvation import Starvation

MARGIN = 0.1  # seconds that the client has after render_ms
SLICE_MS = 2
# Windows are painted when so many slices in a row had hardly anything to do. Counted in slices and
# in seconds of the processor, and not by the clock: whoever gets no processor is not done.
QUIET_SLICES, BUSY = 8, 0.0005
STARVED_MOST = 10  # times the time for painting

ENDED = "the event loop was ended after the screenshot"
HELD_UP = "a callback took longer than the time for painting and was stopped"

_clock, _cpu = time.monotonic, time.thread_time


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
        starved = Starvation(STARVED_MOST * self._seconds)
        ender.starved = starved.seconds
        try:
            ender.enter(IN_PAINT)
            toolkits.refresh(until)
            self._pump(until, starved)
        except KeyboardInterrupt as error:
            if type(error) is not LoopEnded:
                ender.has_struck = False
        finally:
            ender.enter(BETWEEN)
        self._native.untrip()
        if ender.has_struck:
            self._execution.note(HELD_UP)
        self._tell()

    def _pump(self, until: float, starved: Starvation) -> None:
        """Loops go on until the picture is taken; the client hears when they have come to rest."""
        quiet = QUIET_SLICES if not toolkits.are_loaded() else 0
        while not self.ender.stop_painting:
            if quiet >= QUIET_SLICES or _clock() - starved.seconds() > until:
                self._tell()
            if _clock() - starved.seconds() > until + MARGIN:
                return
            before = _cpu()
            more = toolkits.step(toolkits.SLICE)
            quiet = 0 if more or _cpu() - before > BUSY else quiet + 1
            if quiet == QUIET_SLICES // 2:
                toolkits.sync()  # what comes back is still to be dealt with
            if self._native.captured(self._execution.id, 0 if more else SLICE_MS):
                return

    def _tell(self) -> None:
        if not self._painted:
            self._channel.painted(self._painted, self._execution.id)
