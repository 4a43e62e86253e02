# SPDX-License-Identifier: Apache-2.0
"""The worker's loop: requests in, executions run, until the front is gone."""

from __future__ import annotations

import os
import sys
from itertools import starmap
from typing import Any, NoReturn

from . import environ, packages, seeding, threads
from .errors import FAILURES
from .figures import Figures
from .hooks import mute_signals
from .rehearsal import run as _rehearse
from .sealed import __builtins__  # noqa: F401
from .session import Session

ONCE = ((),)
MAX_EOF = 3
MAX_FAILURES = 1000

_session: Session | None = None
_seeded = 0
_exit, _getpid = os._exit, os.getpid


def session() -> Session:
    """The session of this process; the zygote makes it before it forks."""
    global _session
    if _session is None:
        import _vitrine

        _session = Session(_vitrine)
        _session.install()
    return _session


def figures() -> Figures | None:
    """For the matplotlib backend: None in a process that is not the session's own."""
    here = _session
    return here.figures if here is not None and here.channel.is_worker() else None


def after_fork() -> None:
    """What must differ between two children of one zygote. Does its work once per process."""
    global _seeded
    here = _getpid()
    if _seeded != here:
        seeding.reseed()
        threads.after_fork()
        _seeded = here


def rehearse() -> None:
    """A warm-up that leaves no trace. It only saves time, so a failure of it is no failure."""
    try:
        _rehearse(session())
    except FAILURES:
        pass


def main() -> NoReturn:
    """Serves the session until the peer is gone. Called in the forked, jailed worker."""
    here = session()
    after_fork()
    here.adopt()
    inbox: list[tuple[str, int, Any]] = []
    failures = [0]
    # A signal handler of user code may raise between any two bytecodes, also inside an except
    # clause. Three loops around each other make it need three of them at one instant.
    while True:
        try:
            while True:
                try:
                    _serve(here, inbox, failures)
                except BaseException:
                    pass
        except BaseException:
            pass


def _serve(here: Session, inbox: list[tuple[str, int, Any]], failures: list[int]) -> NoReturn:
    """A message once received is in `inbox` (no bytecode between) and stays there until it has
    been dealt with."""
    fetch = inbox.extend
    receive = here.channel.receive
    while True:
        try:
            if not inbox:
                fetch(starmap(receive, ONCE))
            failures[0] = 0
            kind, id, body = inbox[0]
            if kind == "execute":
                here.execute(id, body)
            elif kind == "setup":
                _setup(here, body)
            inbox.clear()
        except BaseException as error:
            failures[0] += 1
            # A handler may raise EOFError too; that of a peer that is gone comes again and again.
            if failures[0] >= (MAX_EOF if type(error) is EOFError else MAX_FAILURES):
                _exit(0)
            if failures[0] == MAX_FAILURES // 2:
                mute_signals()


def _setup(here: Session, body: dict[str, Any]) -> None:
    if body.get("packages_first"):
        packages.put_first()
    environ.apply(body["env"])
    policy = body.get("policy") or "native"
    if policy != "native" and here.policy is None:
        _install_policy(here, policy, body.get("imports") or [])
    if body["seed"] is not None:
        seeding.seed(body["seed"], here.imports)
    if body.get("rehearse"):
        rehearse()


def _install_policy(here: Session, name: str, imports: list[str]) -> None:
    """A session that is not what was asked for must not go on."""
    try:
        from . import policies

        policies.install(here, name, imports)
    except BaseException as error:
        print(f"the policy {name} cannot be had: {error!r}", file=sys.stderr, flush=True)
        _exit(1)
