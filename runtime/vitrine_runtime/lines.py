# SPDX-License-Identifier: Apache-2.0
"""A thread that tells which line of the cell runs, for the pictures that are taken on the way.

It looks at the main thread's stack with the interpreter lock, so it sees whole frames and breaks no
system call off. It has to wait while C code holds the lock: the client then hears nothing, and says
that it does not know.
"""

from __future__ import annotations

import _thread
import gc

from . import loops
from .channel import Native
from .errors import FAILURES
from .sealed import __builtins__  # noqa: F401
from .sources import Sources

MAX_LINE = 0xFFFFFFFF

_isenabled, _disable, _enable = gc.isenabled, gc.disable, gc.enable


class Lines:
    """Made for one execution, on the main thread."""

    def __init__(self, native: Native, sources: Sources, id: int, seconds: float) -> None:
        self._native = native
        self._sources = sources
        self._id = id
        self._seconds = seconds
        self._main = _thread.get_ident()
        self._rest = _thread.allocate_lock()
        self._over = False

    def begin(self) -> None:
        self._rest.acquire()
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:  # no thread to be had: then nobody knows the line
            self._over = True

    def end(self) -> None:
        """On the main thread. May be called again."""
        self._over = True
        if self._rest.locked():
            self._rest.release()

    def _run(self) -> None:
        while not self._over:
            try:
                self._native.send_line(self._id, self.now())
            except FAILURES:
                pass
            if self._rest.acquire(True, self._seconds):
                break

    def now(self) -> int:
        """The innermost line of this cell's own code; 0 if none of it runs.

        Without a collection in between: it would end what belongs to the main thread in this one,
        and Tk does not survive that.
        """
        collects = _isenabled()
        _disable()
        try:
            return self._line()
        finally:
            if collects:
                _enable()

    def _line(self) -> int:
        cell = self._sources.last()
        for frame in loops.frames_of(self._main):
            if frame.f_code.co_filename == cell:
                return min(frame.f_lineno or 0, MAX_LINE)
        return 0
