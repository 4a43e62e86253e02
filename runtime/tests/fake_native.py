# SPDX-License-Identifier: Apache-2.0
"""The native module `_vitrine` in pure Python, for workers forked by `zygote_process`.

Requests are compressed pickles on a packet socket; frames leave as text on a pipe, fields split by
FIELD and frames by END. What receives a request and what ends an execution is made of C
callables only, so that, as with the real module, no signal handler can run between their effect
and their return.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import pickle
import select
import signal
import socket
import zlib
from functools import partial
from itertools import repeat
from typing import Any

FIELD, END = "\x1f", "\x1e"

_getpid, _dumps = os.getpid, pickle.dumps  # user code may patch the modules

current = 0
worker_pid = -1
receive: Any = None
send_error: Any = None
send_note: Any = None
send_finished: Any = None
send_input_request: Any = None
_send_package_request: Any = None
send_painted: Any = None
_send_line: Any = None
_send_result: Any = None
_requests: Any = None
_orders = -1
_wake: tuple[int, int] = (-1, -1)
_asked = (0, "")
_main = _thread.get_ident()


def attach(requests: int, frames: int, orders: int = -1) -> None:
    """In the forked worker: from now on this process speaks for the session."""
    global \
        worker_pid, \
        receive, \
        send_error, \
        send_note, \
        send_finished, \
        send_input_request, \
        _send_package_request, \
        send_painted, \
        _send_line, \
        _send_result, \
        _requests, \
        _orders, \
        _wake
    worker_pid = os.getpid()
    _orders = orders
    if orders >= 0:
        _requests = socket.socket(fileno=os.dup(requests))
        _wake = os.pipe()
    packets = map(os.read, repeat(requests), repeat(1 << 20))
    receive = partial(next, map(pickle.loads, map(zlib.decompress, packets)))
    write = partial(ctypes.CDLL(None).dprintf, frames)
    send_error = partial(write, b"error\x1f%d\x1f%ls\x1f%ls\x1f%ls\x1e")
    send_note = partial(write, b"note\x1f%d\x1f%ls\x1e")
    send_finished = partial(write, b"finished\x1f%d\x1f%ls\x1f%d\x1e")
    send_input_request = partial(write, b"input_request\x1f%d\x1f%ls\x1f%d\x1e")
    _send_package_request = partial(write, b"package_request\x1f%d\x1f%ls\x1e")
    send_painted = partial(write, b"painted\x1f%d\x1e")
    # With the lock: what another thread says must not come after the end.
    _send_line = partial(ctypes.PyDLL(None).dprintf, frames, b"line\x1f%d\x1f%d\x1e")
    _send_result = partial(write, b"result\x1f%d\x1f%d\x1f%ls\x1f%s\x1f%s\x1e")


def flush() -> None:
    """Nothing waits here."""


def send_result(
    id: int, kind: int, display_id: str, bundle: dict[str, bytes], metadata: bytes
) -> None:
    assert is_worker(), "a forked child sent a result"
    _send_result(id, kind, display_id, _dumps(bundle).hex().encode(), metadata)


def send_package_request(id: int, packages: list[str]) -> None:
    _send_package_request(id, "\n".join(packages))


def send_line(id: int, line: int) -> None:
    if current == id and is_worker():
        _send_line(id, line)


def executing(id: int) -> None:
    global current
    current = id


def is_worker() -> bool:
    return _getpid() == worker_pid


def captured(id: int, milliseconds: int) -> bool:
    if not select.select([_requests], [], [], milliseconds / 1000)[0]:
        return False
    data = _requests.recv(1 << 20, socket.MSG_PEEK)
    if not data or pickle.loads(zlib.decompress(data))[0] == "execute":
        return True
    return pickle.loads(zlib.decompress(_requests.recv(1 << 20)))[:2] == ("captured", id)


def wait_for_loop_end(id: int, milliseconds: int) -> str:
    """Orders come on a pipe here, `id how` in a line; with the real module it is a signal."""
    global _asked
    ready = select.select([_orders, _wake[0]], [], [], milliseconds / 1000)[0]
    if _wake[0] in ready:
        os.read(_wake[0], 1)
    if _orders in ready:
        line = os.read(_orders, 100).decode().split()
        if line and int(line[0]) == current:
            _asked = (current, line[1])
    if current != id:
        return "over"
    return _asked[1] if _asked[0] == id else ""


def wake_loop_ender() -> None:
    os.write(_wake[1], b"x")


def strike(id: int) -> bool:
    if current != id:
        return False
    signal.pthread_kill(_main, signal.SIGINT)
    return True


def trip(id: int, error: type[BaseException], *prefixes: str) -> None:
    """Needs the real module: see tests/engine/test_loops.py."""


def untrip() -> None:
    pass
