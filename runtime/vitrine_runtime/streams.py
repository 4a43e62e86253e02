# SPDX-License-Identifier: Apache-2.0
"""sys.stdout and sys.stderr: text on file descriptors 1 and 2.

The descriptors are the session's pipes; C code and child processes write to the same ones. User
code may close, replace, detach or redirect all of this: `repair` puts a working pair back.
"""

from __future__ import annotations

import io
import os
import sys

from .errors import FAILURES
from .sealed import __builtins__  # noqa: F401

# Spare copies are 61 and 62: above what programs use by number, below 64, where the kernel's first
# table of descriptors ends.
SPARE_FROM = 1020  # beside the session socket, out of reach of closing "all" low ones

_NAMES = {1: "stdout", 2: "stderr"}
_close, _dup, _dup2, _fstat = os.close, os.dup, os.dup2, os.fstat
_open, _pipe, _set_blocking = os.open, os.pipe, os.set_blocking


def open_text(fd: int) -> io.TextIOWrapper:
    """A line-buffered, surrogate-safe writer that does not own `fd`."""
    raw = io.FileIO(fd, "wb", closefd=False)
    raw.name = f"<{_NAMES[fd]}>"
    text = io.TextIOWrapper(
        io.BufferedWriter(raw), "utf-8", "backslashreplace", newline="\n", line_buffering=True
    )
    text.mode = "w"  # type: ignore[misc]
    return text


def _open_as_pipes() -> tuple[io.TextIOWrapper, io.TextIOWrapper]:
    """Writers for what fds 1 and 2 will be in a worker: pipes. A writer remembers whether its file
    can seek, and in the zygote these descriptors may be files."""
    saved = _dup(1), _dup(2)
    read, write = _pipe()
    try:
        _dup2(write, 1)
        _dup2(write, 2)
        return open_text(1), open_text(2)
    finally:
        _dup2(saved[0], 1)
        _dup2(saved[1], 2)
        for fd in (*saved, read, write):
            _close(fd)


class Streams:
    """Both writers. Made in the zygote; `adopt` is called in the worker."""

    __slots__ = ("out", "err", "_spare", "_identity", "_troubles")

    def __init__(self) -> None:
        self.out, self.err = _open_as_pipes()
        self._troubles: list[str] = []
        self._spare: dict[int, int] = {}
        self._identity: dict[int, tuple[int, int]] = {}  # inode, device

    def install(self) -> None:
        sys.stdout = sys.__stdout__ = self.out  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self.err  # type: ignore[misc]

    def adopt(self) -> None:
        """Remembers what fds 1 and 2 are, with a spare copy of each for `repair`."""
        for fd in (1, 2):
            try:
                stat = _fstat(fd)
                self._identity[fd] = (stat[1], stat[2])
                self._spare[fd] = _dup2(fd, SPARE_FROM + fd, False)
            except OSError:
                self._identity.pop(fd, None)

    def unwatch(self) -> dict[int, tuple[int, int]]:
        """For a while fds 1 and 2 may be anything; returns what `watch` needs to end that."""
        watched, self._identity = self._identity, {}
        return watched

    def watch(self, watched: dict[int, tuple[int, int]]) -> None:
        self._identity = watched

    def forget_spares(self) -> None:
        """In a forked child: the session's pipes must close when the child closes 1 and 2."""
        spare, self._spare = self._spare, {}
        for fd in spare.values():
            try:
                _close(fd)
            except OSError:
                pass

    def flush(self) -> None:
        try:
            self.out.flush()
        except (OSError, ValueError):
            self.out = self._revive(self.out, 1)
        try:
            self.err.flush()
        except (OSError, ValueError):
            self.err = self._revive(self.err, 2)

    def replaced(self) -> bool:
        out, err = getattr(sys, "stdout", None), getattr(sys, "stderr", None)
        return out is not self.out or err is not self.err

    def flush_foreign(self) -> None:
        """Lets go what a stream of user code still holds, e.g. a wrapper around our own buffer.
        Runs user code, so it is called where that can be interrupted."""
        for name, own in (("stdout", self.out), ("stderr", self.err)):
            stream = getattr(sys, name, None)
            if stream is not own:
                try:
                    stream.flush()  # type: ignore[union-attr]
                except FAILURES:
                    pass

    def repair(self) -> list[str]:
        """Brings both streams back into working order; says what was wrong."""
        notes, self._troubles = self._troubles, []
        for fd in (1, 2):
            if not self._same_file(fd) and self._restore(fd):
                notes.append(f"file descriptor {fd} was closed or redirected: restored")
        if getattr(sys, "stdout", None) is not self.out:
            notes.append("sys.stdout was replaced: restored for the next execution")
        if getattr(sys, "stderr", None) is not self.err:
            notes.append("sys.stderr was replaced: restored for the next execution")
        if not _works(self.out):
            self.out = self._revive(self.out, 1)
        if not _works(self.err):
            self.err = self._revive(self.err, 2)
        self.install()
        notes += self._troubles
        self._troubles = []
        return notes

    def intact(self) -> bool:
        """The cheap question asked after every execution."""
        out, err = self.out, self.err
        try:
            if sys.stdout is not out or sys.stderr is not err or self._troubles:
                return False
            if out.closed or err.closed:
                return False
            if len(self._identity) == 2:
                stat = _fstat(1)
                if (stat[1], stat[2]) != self._identity[1]:
                    return False
                stat = _fstat(2)
                return (stat[1], stat[2]) == self._identity[2]
        except (AttributeError, ValueError, OSError):  # deleted, detached, closed
            return False
        return True

    def _same_file(self, fd: int) -> bool:
        expected = self._identity.get(fd)
        if expected is None:
            return True
        try:
            stat = _fstat(fd)
        except OSError:
            return False
        return (stat[1], stat[2]) == expected

    def _restore(self, fd: int) -> bool:
        spare = self._spare.get(fd)
        if spare is None:
            return False
        try:
            _dup2(spare, fd)
        except OSError:
            del self._spare[fd]
            return False
        return True

    def _revive(self, old: io.TextIOWrapper, fd: int) -> io.TextIOWrapper:
        """A fresh writer in place of one that cannot be flushed; unwritten text is lost."""
        try:
            _set_blocking(fd, True)  # a full, non-blocking pipe is the one curable cause
            old.flush()
            return old
        except (OSError, ValueError):
            pass
        self._troubles.append(f"sys.{_NAMES[fd]} was closed or broken: opened again")
        try:
            fresh = open_text(fd)
        except OSError:
            if not self._restore(fd):
                _dup2(_open(os.devnull, os.O_WRONLY), fd)
            fresh = open_text(fd)
        if getattr(sys, _NAMES[fd], None) is old:
            setattr(sys, _NAMES[fd], fresh)
            setattr(sys, f"__{_NAMES[fd]}__", fresh)
        return fresh


def _works(stream: io.TextIOWrapper) -> bool:
    try:
        return not stream.closed
    except ValueError:
        return False
