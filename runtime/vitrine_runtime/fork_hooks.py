# SPDX-License-Identifier: Apache-2.0
"""Fork hooks: all of them for forks of user code, none for the fork that makes a worker.

A zygote has one thread and holds no lock when it forks: what `logging`, `threading` and others
do after a fork (new locks, new lists of threads) changes nothing in a new worker; it only costs it
130 pages. What a worker does need is in `worker.after_fork`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from .sealed import __builtins__  # noqa: F401

_hooks: list[Callable[[], object]] = []
_makes_worker = False


def collect() -> Callable[[], None]:
    """In the zygote, before anything is imported that registers hooks; returns what ends it."""
    register = os.register_at_fork

    def keep(
        *,
        before: Callable[[], object] | None = None,
        after_in_parent: Callable[[], object] | None = None,
        after_in_child: Callable[[], object] | None = None,
    ) -> None:
        # Both only for forks of user code: a lock that the first takes is released by a hook in the
        # child.
        if before is not None:
            register(before=_unless_worker(before))
        if after_in_parent is not None:
            register(after_in_parent=_unless_worker(after_in_parent))
        if after_in_child is not None:
            _hooks.append(after_in_child)

    def end() -> None:
        os.register_at_fork = register

    register(after_in_child=_run)
    os.register_at_fork = keep
    return end


def _unless_worker(hook: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        if not _makes_worker:
            hook()

    return run


def _run() -> None:
    if not _makes_worker:
        for hook in _hooks:
            hook()


def begin() -> None:
    """The next fork makes a worker."""
    global _makes_worker
    _makes_worker = True


def done() -> None:
    """In the worker: from now on forks are the user's."""
    global _makes_worker
    _makes_worker = False
    sys.modules["threading"].main_thread()._set_native_id()  # of the one thread that is left
