# SPDX-License-Identifier: Apache-2.0
"""fd 0 and sys.stdin: nothing, the bytes given with the code, or questions to the client."""

from __future__ import annotations

import io
import os
import select
import sys
from _thread import allocate_lock
from typing import Any

from .channel import Channel
from .results import Results
from .sealed import __builtins__  # noqa: F401

_close, _dup2, _fstat, _lseek = os.close, os.dup2, os.fstat, os.lseek
_memfd_create, _open, _write = os.memfd_create, os.open, os.write

NOTHING = "no input was given: pass stdin with the code, or set the values in the code itself"
USED_UP = "the given stdin is used up: pass more lines in stdin"
CLOSED = "the client closed the input"
SESSION_SOCKET = 1023  # jail/worker.h
MOMENT = 50  # milliseconds between two looks at whether an execution is over


class Stdin:
    """What the current execution reads. fd 0 is /dev/null between executions."""

    __slots__ = (
        "_channel",
        "_results",
        "_idle",
        "_given",
        "_asking",
        "_identity",
        "_reading",
        "_requesting",
        "_aside",
    )

    def __init__(self, channel: Channel, results: Results) -> None:
        self._channel = channel
        self._results = results
        self._given: io.TextIOWrapper | None = None
        self._asking: AskingStdin | None = None
        self._idle = _reader()
        self._identity: tuple[int, int] | None = None
        self._reading = allocate_lock()  # held by the thread that reads the session socket
        self._requesting = allocate_lock()  # the server answers the newest request only
        self._aside: list[dict[str, Any]] = []  # replies that the main thread read for another

    def install(self) -> None:
        sys.stdin = sys.__stdin__ = self._idle  # type: ignore[misc]

    def adopt(self) -> None:
        try:
            stat = _fstat(0)
            self._identity = (stat[1], stat[2])  # inode, device
        except OSError:
            self._identity = None

    def begin(self, given: bytes | None, interactive: bool) -> None:
        if given is not None:
            _put_on_fd0(given)
            self._given = sys.stdin = sys.__stdin__ = _reader()  # type: ignore[misc]
        elif interactive:
            self._asking = sys.stdin = AskingStdin(self.ask)  # type: ignore[assignment]

    def end(self) -> None:
        """After the execution; also repairs an fd 0 or a sys.stdin that the cell broke."""
        self._stop_reading()
        if self._given is None and self._asking is None and self._intact():
            return
        self._given = self._asking = None
        _devnull_on_fd0()
        self.adopt()
        if not _works(self._idle):
            self._idle = _reader()
        self.install()

    def silent(self) -> bool:
        """Whether nobody can answer a question."""
        return sys.stdin is self._idle

    def _intact(self) -> bool:
        if self._identity is None:
            return sys.stdin is self._idle
        try:
            if sys.stdin is not self._idle or self._idle.closed:
                return False
            stat = _fstat(0)
        except (OSError, ValueError, AttributeError):
            return False
        return (stat[1], stat[2]) == self._identity

    def read_line(self, prompt: str, password: bool = False) -> str:
        """One line without its end, as input() gives it. EOFError says what to do."""
        stream = sys.stdin
        if stream is self._asking and stream is not None:
            line = self.ask(prompt, password)
            if line is None:
                raise EOFError(CLOSED)
            return line
        if prompt:
            sys.stdout.write(prompt)
            sys.stdout.flush()
        line = stream.readline()
        if not line:
            if stream is self._given:
                raise EOFError(USED_UP)
            raise EOFError(NOTHING if stream is self._idle else "EOF when reading a line")
        return line[:-1] if line.endswith("\n") else line

    def ask(self, prompt: str, password: bool = False) -> str | None:
        """Asks the client and waits. None at end of input."""
        id = self._execution()
        self._channel.input_request(id, prompt, password)
        body = self._reply("input", id)
        return None if body is None else body.decode("utf-8", "replace").rstrip("\r\n")

    def ask_packages(self, packages: list[str]) -> dict[str, Any]:
        """Requests packages of the server and waits until it has installed them, or refused."""
        id = self._execution()
        with self._requesting:
            self._channel.package_request(id, packages)
            reply: dict[str, Any] = self._reply("package_reply", id)
        return reply

    def is_running(self) -> bool:
        """Whether this is the session's own process and a cell runs in it."""
        return self._results.current is not None and self._channel.is_worker()

    def ask_packages_aside(self, packages: list[str]) -> dict[str, Any] | None:
        """As `ask_packages`, in another thread while the main one runs the cell; None once the
        cell is over. It reads the socket only in the moments in which there is something to read
        and the main thread does not."""
        with self._requesting:
            execution = self._results.current
            if execution is None or not self._channel.is_worker():
                return None
            self._aside.clear()
            self._channel.package_request(execution.id, packages)
            ready = select.poll()
            ready.register(SESSION_SOCKET, select.POLLIN)
            while self._results.current is execution:
                if self._aside:
                    return self._aside.pop()
                ready.poll(MOMENT)
                if not self._reading.acquire(timeout=MOMENT / 1000):
                    continue
                try:
                    if self._results.current is not execution or not ready.poll(0):
                        continue
                    kind, id, body = self._channel.receive()
                finally:
                    self._reading.release()
                if kind == "package_reply" and id == execution.id:
                    return dict(body)
        return None

    def _stop_reading(self) -> None:
        """Results have no execution any more: no other thread reads the socket from here on."""
        if self._reading.locked():
            if self._reading.acquire(timeout=1):
                self._reading.release()
            else:
                self._reading = allocate_lock()

    def _execution(self) -> int:
        execution = self._results.current
        if execution is None or not self._channel.is_worker():
            raise EOFError("only the session's own process can ask for input")
        if not self._results.on_main_thread():  # the main thread reads the same socket
            raise EOFError("only the main thread can ask for input")
        return execution.id

    def _reply(self, wanted: str, execution: int) -> Any:
        while True:
            with self._reading:
                kind, id, body = self._channel.receive()
            if kind == wanted and id == execution:
                return body
            if kind == "package_reply" and id == execution:
                self._aside.append(dict(body))


class AskingStdin(io.TextIOBase):
    """sys.stdin of an interactive execution: every line read is a question to the client."""

    def __init__(self, ask) -> None:
        self._ask = ask
        self._rest = ""
        self._ended = False

    encoding = "utf-8"
    errors = "replace"
    name = "<stdin>"
    mode = "r"

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        if not self._rest and not self._ended:
            line = self._ask("")
            self._ended = line is None
            self._rest = "" if line is None else line + "\n"
        end = len(self._rest) if size is None or size < 0 else size
        line, self._rest = self._rest[:end], self._rest[end:]
        return line

    def read(self, size: int | None = -1) -> str:
        parts = []
        left = -1 if size is None else size
        while left:
            line = self.readline(left)
            if not line:
                break
            parts.append(line)
            if left > 0:
                left -= len(line)
        return "".join(parts)


def _reader() -> io.TextIOWrapper:
    raw = io.FileIO(0, "rb", closefd=False)
    raw.name = "<stdin>"
    text = io.TextIOWrapper(io.BufferedReader(raw), "utf-8", "surrogateescape")
    text.mode = "r"  # type: ignore[misc]
    return text


def _put_on_fd0(data: bytes) -> None:
    fd = _memfd_create("stdin", 0)
    try:
        view = memoryview(data)
        while view:
            view = view[_write(fd, view) :]
        _lseek(fd, 0, os.SEEK_SET)
        _dup2(fd, 0)
    finally:
        if fd != 0:
            _close(fd)


def _devnull_on_fd0() -> None:
    try:
        fd = _open(os.devnull, os.O_RDWR)
    except OSError:
        return
    if fd != 0:
        _dup2(fd, 0)
        _close(fd)


def _works(stream: io.TextIOWrapper) -> bool:
    try:
        return not stream.closed
    except ValueError:
        return False
