# SPDX-License-Identifier: Apache-2.0
"""One warm-up execution, so that the first real one finds its pages and caches warm."""

from __future__ import annotations

import os
import sys

from .channel import Silent
from .sealed import __builtins__  # noqa: F401
from .session import Session

EXPRESSION = "1 + 1"
PLAIN = "def _rehearsed(n):\n    return [n, {'a': n}]\nprint('rehearsal')\n_rehearsed(1)"
FAILING = "def _rehearsed():\n    raise ValueError('rehearsal')\n_rehearsed()"
NUMPY = "import numpy as _rehearsed\n(_rehearsed.arange(6).reshape(2, 3) * 2).sum()"


def run(session: Session) -> None:
    """Runs the whole path of an execution; nothing is sent, printed, named or counted."""
    cells = [PLAIN, FAILING, EXPRESSION]
    if "numpy" in sys.modules:
        cells.append(NUMPY)
    names = session.namespace.names
    before = set(names)
    count, futures = session.sources.count, session.runner.futures
    stdout = _silence()
    watched = session.streams.unwatch()
    native = session.channel.native
    session.channel.attach(Silent())
    try:
        for number, source in enumerate(cells):
            session.execute(-1 - number, request(source))
            session.sources.drop_last()
    finally:
        session.channel.attach(native)
        session.streams.flush()
        _unsilence(stdout)
        session.streams.watch(watched)
        session.sources.count, session.runner.futures = count, futures
        session.namespace.forget()
        for name in set(names) - before:
            del names[name]


def request(source: str) -> dict[str, object]:
    return {"code": source, "stdin": None, "interactive": False, "env": {}, "result_limit": 1 << 20}


def _silence() -> int:
    saved = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    return saved


def _unsilence(saved: int) -> None:
    os.dup2(saved, 1)
    os.close(saved)
