# SPDX-License-Identifier: Apache-2.0
"""The native module `_vitrine` in pure Python, for workers forked by `zygote_process`.

Requests are pickles in files whose names come on one pipe; frames leave as text on another, fields
split by FIELD and frames by END. What receives a request and what ends an execution is made of C
callables only, so that, as with the real module, no signal handler can run between their effect
and their return.
"""

from __future__ import annotations

import io
import os
import pickle
from functools import partial
from itertools import repeat
from operator import methodcaller
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
_write: Any = None


def attach(requests: int, frames: int) -> None:
    """In the forked worker: from now on this process speaks for the session."""
    global worker_pid, receive, send_error, send_note, send_finished, send_input_request, _write
    worker_pid = os.getpid()
    paths = map(os.read, repeat(requests), repeat(4096))
    files = map(partial(open, mode="rb"), paths)
    receive = partial(next, map(pickle.loads, map(methodcaller("read"), files)))
    # Raw below the text layer: a buffered writer runs signal handlers after its writes.
    raw = io.FileIO(frames, "w", closefd=False)
    out = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")  # type: ignore[type-var]
    _write = partial(print, sep=FIELD, end=END, file=out, flush=True)
    send_error = partial(_write, "error")
    send_note = partial(_write, "note")
    send_finished = partial(_write, "finished")
    send_input_request = partial(_write, "input_request")


def send_result(
    id: int, kind: int, display_id: str, bundle: dict[str, bytes], metadata: bytes
) -> None:
    assert is_worker(), "a forked child sent a result"
    _write("result", id, kind, display_id, _dumps(bundle).hex(), metadata.decode())


def executing(id: int) -> None:
    global current
    current = id


def is_worker() -> bool:
    return _getpid() == worker_pid
