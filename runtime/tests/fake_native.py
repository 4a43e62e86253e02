# SPDX-License-Identifier: Apache-2.0
"""The native module `_vitrine` in pure Python, for workers forked by `zygote_process`.

Requests are compressed pickles on a packet socket; frames leave as text on a pipe, fields split by
FIELD and frames by END. What receives a request and what ends an execution is made of C
callables only, so that, as with the real module, no signal handler can run between their effect
and their return.
"""

from __future__ import annotations

import ctypes
import os
import pickle
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
_send_result: Any = None


def attach(requests: int, frames: int) -> None:
    """In the forked worker: from now on this process speaks for the session."""
    global \
        worker_pid, \
        receive, \
        send_error, \
        send_note, \
        send_finished, \
        send_input_request, \
        _send_result
    worker_pid = os.getpid()
    packets = map(os.read, repeat(requests), repeat(1 << 20))
    receive = partial(next, map(pickle.loads, map(zlib.decompress, packets)))
    write = partial(ctypes.CDLL(None).dprintf, frames)
    send_error = partial(write, b"error\x1f%d\x1f%ls\x1f%ls\x1f%ls\x1e")
    send_note = partial(write, b"note\x1f%d\x1f%ls\x1e")
    send_finished = partial(write, b"finished\x1f%d\x1f%ls\x1f%d\x1e")
    send_input_request = partial(write, b"input_request\x1f%d\x1f%ls\x1f%d\x1e")
    _send_result = partial(write, b"result\x1f%d\x1f%d\x1f%ls\x1f%s\x1f%s\x1e")


def send_result(
    id: int, kind: int, display_id: str, bundle: dict[str, bytes], metadata: bytes
) -> None:
    assert is_worker(), "a forked child sent a result"
    _send_result(id, kind, display_id, _dumps(bundle).hex().encode(), metadata)


def executing(id: int) -> None:
    global current
    current = id


def is_worker() -> bool:
    return _getpid() == worker_pid
