# SPDX-License-Identifier: Apache-2.0
"""A thread that ends event loops once the picture is taken, and callbacks that hold it up.

It runs beside an execution whose screen somebody wants to see, and ends with it. Most of the time
it waits in native code; the keeper's signal wakes it even while the main thread blocks in C.

Whatever it does, it does under `lock` and not once `over` is set: no step hits a later execution.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
from collections.abc import Callable

from . import gui_others, gui_pygame, gui_tk, loops
from .channel import Native
from .errors import FAILURES
from .interrupts import Gate
from .loops import LoopEnded
from .sealed import __builtins__  # noqa: F401
from .tracebacks import OWN_FILES

WAIT_MS, LOOK_MS = 1000, 20  # between two looks: while nothing is asked for, while something is
PATIENCE = 0.15  # seconds from asking a loop to end to striking, and between strikes
FRESH = 0.1  # seconds: a wish that found no loop is forgotten, as the screen may change before one
STRIKES = 3  # then every line of user code raises

IN_CODE, BETWEEN, IN_PAINT = range(3)

_clock = time.monotonic
_getframe = sys._getframe


class LoopEnder:
    """Made for one execution, on the main thread."""

    def __init__(self, native: Native, gate: Gate, id: int) -> None:
        self._native = native
        self._gate = gate
        self._id = id
        self._main = _thread.get_ident()
        self.lock = _thread.allocate_lock()
        self.over = False
        self.phase = IN_CODE
        self.paint_until = 0.0  # when the painting must be over
        self.starved: Callable[[], float] = float  # seconds without a processor, which do not count
        self.stop_painting = False
        self.has_ended = False  # a loop, or at least tried to
        self.has_struck = False  # a callback during the painting
        self._wish, self._wished = "", 0.0  # what the client wants, since when
        self._asked = 0.0  # when this loop was asked to end; 0 = not yet
        self._struck = 0.0
        self._strikes = 0
        self._quit_waits = False

    def start(self) -> None:
        _thread.start_new_thread(self._run, ())

    def enter(self, phase: int) -> None:
        """The main thread goes on to another part of the execution."""
        self._gate.endable = phase != BETWEEN
        self.phase = phase
        if phase == IN_PAINT:
            self._native.wake_loop_ender()  # it has a time limit now

    def end(self) -> None:
        """On the main thread. May be called again."""
        self._gate.endable = False
        self._native.untrip()
        taken = self.lock.acquire(timeout=1.0)
        self.over = True
        if taken:
            self.lock.release()
        self._gate.ending = False
        gui_tk.on_wake = None
        self._native.wake_loop_ender()
        if self._quit_waits:
            self._quit_waits = False
            gui_pygame.forget_quit()

    def _run(self) -> None:
        wait = WAIT_MS
        while True:
            said = self._native.wait_for_loop_end(self._id, wait)
            with self.lock:
                if self.over or said == "over":
                    break
                try:
                    wait = self._look(said)
                except FAILURES:
                    wait = LOOK_MS
        self._native.wake_loop_ender()  # for the next one, if it was meant for that

    def _look(self, said: str) -> int:
        """One step; returns the milliseconds to the next."""
        now = _clock()
        if said:
            self._wish, self._wished = said, now
        elif not self._asked and now - self._wished > FRESH:
            self._wish = ""
        said = self._wish
        if self.phase == IN_PAINT:
            if said and not self.stop_painting:
                self.stop_painting = True
                self.paint_until = min(self.paint_until, now)
            late = now - self.paint_until
            if late > PATIENCE and late - self.starved() > PATIENCE:
                self.has_struck = True
                self._strike(now)
            return LOOK_MS if late > -1 else WAIT_MS
        if said and self.phase == IN_CODE:
            self._end_loop(said == "painting", now)
        return LOOK_MS if said else WAIT_MS

    def _end_loop(self, painting: bool, now: float) -> None:
        frames = loops.frames_of(self._main)
        waits = bool(frames) and frames[0].f_code in loops.blocking
        turning = loops.is_turning(painting)
        inside = any(frame.f_code in loops.blocking for frame in frames)
        if not self._asked:
            self._ask(waits or turning or inside, now)
            return
        if not (waits or turning or inside):
            # It left the loop, or computes: that is never cut. Another loop is another matter.
            self._asked, self._strikes = 0.0, 0
        elif now - self._asked > PATIENCE and (
            waits or loops.turned_since(max(self._asked, self._struck))
        ):
            self._strike(now)

    def _ask(self, seen: bool, now: float) -> None:
        """The soft end, if there is a loop to end. What follows from it may come at once."""
        if not (seen or gui_others.in_qt() or gui_others.in_gtk()):
            return
        self._asked = now
        self.has_ended = True
        gui_tk.on_wake = self._in_tk
        gui_tk.ask_to_quit()
        self._quit_waits = gui_pygame.ask_to_quit() or self._quit_waits
        gui_others.quit_qt()
        gui_others.quit_gtk()

    def _in_tk(self) -> None:
        """On the main thread, inside a loop of Tcl."""
        if not self.over and self.phase == IN_CODE and self._asked:
            gui_tk.close_dialogs(_getframe(1))

    def _strike(self, now: float) -> None:
        if now - self._struck < PATIENCE:
            return
        self._struck = now
        self._strikes += 1
        if self._strikes > STRIKES:
            home = os.path.join(os.path.expanduser("~"), "")
            places = ["<cell "] if OWN_FILES.startswith(home) else ["<cell ", home]
            self._native.trip(self._id, LoopEnded, *places)
        self._gate.ending = True
        self._native.strike(self._id)
        gui_tk.wake()
        gui_pygame.wake()
