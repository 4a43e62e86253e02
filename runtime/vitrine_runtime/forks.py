# SPDX-License-Identifier: Apache-2.0
"""Forks made by user code: flush before, and end a child that runs past the executed code."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from .errors import FAILURES, describe, exit_status
from .sealed import __builtins__  # noqa: F401
from .sources import Sources
from .streams import Streams

_exit = os._exit


def install(streams: Streams) -> None:
    os.register_at_fork(before=streams.flush, after_in_child=streams.forget_spares)


def leave_child(error: BaseException | None, streams: Streams, sources: Sources) -> NoReturn:
    """Ends a forked child as Python ends a script; it never speaks on the session socket."""
    status = 1
    try:
        if error is None:
            status = 0
        elif issubclass(type(error), SystemExit):
            status, message = exit_status(error)
            if message is not None:
                sys.stderr.write(f"{message}\n")
        else:
            sys.stderr.write(describe(error, sources)[2])
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except FAILURES:
                pass
        streams.flush()
    finally:
        _exit(status)
