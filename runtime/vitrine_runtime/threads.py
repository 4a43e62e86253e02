# SPDX-License-Identifier: Apache-2.0
"""Exceptions that end a thread: printed on stderr, with the source lines of cells."""

from __future__ import annotations

import sys
import threading

from .errors import FAILURES, describe
from .sealed import __builtins__  # noqa: F401
from .sources import Sources


def install(sources: Sources) -> None:
    """Python's own printer looks for the source of `<cell 1>` in the file system."""

    def excepthook(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is SystemExit or args.exc_value is None:
            return
        name = "<failed to get thread name>"
        try:
            name = args.thread.name if args.thread is not None else str(threading.get_ident())
            text = describe(args.exc_value, sources)[2]
            sys.stderr.write(f"Exception in thread {name}:\n{text}")
            sys.stderr.flush()
        except FAILURES:
            pass

    threading.excepthook = excepthook


def after_fork() -> None:
    """Python forgets to tell the main thread its new id in the kernel; matplotlib looks at it."""
    tell = getattr(threading.main_thread(), "_set_native_id", None)
    if tell is not None:
        tell()
