# SPDX-License-Identifier: Apache-2.0
"""Where programs of a session request packages: `pip`, `uv pip` and `python -m pip`.

A socket in the abstract namespace, which only this session sees: its network namespace is its own.
It is opened when the session's code first starts a process. Whoever connects is code of the session
and gets no more than `%pip install` gets. One request is served at a time, and only while a cell
runs.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, start_new_thread
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .errors import FAILURES
from .imports import ImportHooks
from .sealed import __builtins__  # noqa: F401
from .stdin import Stdin

if TYPE_CHECKING:
    from socket import socket

NAME = "\0vitrine-packages"
MAX_MESSAGE = 1 << 20
PATIENCE = 5.0  # seconds that a client has for its request
MAX_PACKAGES, MAX_PACKAGE = 64, 512  # names, and bytes of one, that a request may have

_getpid, _system = os.getpid, os.system


class PackageDoor:
    """Opened once in each process that is the session's own."""

    __slots__ = ("_stdin", "_owner", "_lock")

    def __init__(self, stdin: Stdin) -> None:
        self._stdin = stdin
        self._owner = 0
        self._lock = allocate_lock()

    def install(self, imports: ImportHooks) -> None:
        """The ways in which Python starts programs open the door first."""
        imports.after("subprocess", self._patch)

        def system(command: str) -> int:
            self.open()
            return _system(command)

        system.__doc__ = _system.__doc__
        os.system = system

    def _patch(self, subprocess: ModuleType) -> None:
        popen: Any = subprocess.Popen  # type: ignore[attr-defined]
        original = popen._execute_child

        def _execute_child(process: Any, *arguments: Any, **named: Any) -> None:
            self.open()
            original(process, *arguments, **named)

        popen._execute_child = _execute_child

    def open(self) -> None:
        """In the session's own process, while a cell runs. Costs nothing the second time."""
        pid = _getpid()
        if self._owner == pid or not self._stdin.is_running():
            return
        with self._lock:
            if self._owner == pid:
                return
            self._owner = pid
        try:
            from socket import AF_UNIX, socket

            door = socket(AF_UNIX)
            door.bind(NAME)
            door.listen(16)
            start_new_thread(self._serve, (door,))
        except (OSError, RuntimeError):  # somebody of the session has the name, or no thread
            pass

    def _serve(self, door: socket) -> None:
        import json
        import signal

        # Signals are for the main thread, which may wait in a system call.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            try:
                client, _ = door.accept()
            except OSError:
                return
            try:
                with client:
                    client.settimeout(PATIENCE)
                    reply = self._answer(_read(client))
                    client.sendall(json.dumps(reply).encode() + b"\n")
            except FAILURES:
                continue

    def _answer(self, message: bytes) -> dict[str, Any]:
        import json

        try:
            packages = json.loads(message)["packages"]
        except (ValueError, KeyError, TypeError, RecursionError):
            packages = None
        if not isinstance(packages, list) or not packages:
            return refusal("invalid_requirement", "the request names no packages", "name some")
        names = [str(name) for name in packages]
        if len(names) > MAX_PACKAGES or any(_size(name) > MAX_PACKAGE for name in names):
            return refusal(
                "invalid_requirement", "too many packages, or too long a name", "ask for fewer"
            )
        reply = self._stdin.ask_packages_aside(names)
        if reply is None:
            return refusal("cancelled", "no cell of the session runs any more", "run it in a cell")
        invalidate = sys.modules.get("importlib")
        if not reply["code"] and invalidate is not None:
            invalidate.invalidate_caches()
        return reply


def refusal(code: str, detail: str, remedy: str) -> dict[str, Any]:
    return {"added": [], "code": code, "detail": detail, "remedy": remedy}


def _size(name: str) -> int:
    return len(name.encode("utf-8", "backslashreplace"))


def _read(client: socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) <= MAX_MESSAGE:
        part = client.recv(65536)
        if not part:
            break
        data += part
    return data
