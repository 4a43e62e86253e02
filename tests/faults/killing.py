# SPDX-License-Identifier: Apache-2.0
"""Kills processes of a keeper, also the one that is just being made, and what may follow."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator

import census
import client
import keepers
import pytest

BUSY = "import time\nt = time.monotonic()\nwhile True: pass"
KILLED = ("signalled", signal.SIGKILL)
# How a create may end while the ground under it is being pulled away: a death, or what it led to.
HONEST = {"unavailable", "internal"}


def wait_death(session: client.Session) -> tuple[str, int]:
    execution = client.Execution(0)
    session.wait(execution, limit=keepers.SAFETY)
    assert execution.death is not None
    return execution.death


def end_dead(control: client.Keeper, session: client.Session) -> None:
    assert control.list()[session.id][0], "it is not listed as dead"
    with pytest.raises(client.KeeperError) as refused:
        session.interrupt()
    assert refused.value.code == "unavailable"
    session.end()
    assert session.id not in control.list()


def new_children(keeper: keepers.Process, known: set[int]) -> set[int]:
    path = f"/proc/{keeper.pid}/task/{keeper.pid}/children"
    return {int(pid) for pid in census._text(path).split()} - known


@contextlib.contextmanager
def sniper(keeper: keepers.Process, delay: float) -> Iterator[list[int]]:
    """Kills the next child of the keeper that appears, `delay` seconds after it was seen."""
    known = new_children(keeper, set())
    shot: list[int] = []
    over = threading.Event()

    def hunt() -> None:
        while not over.is_set():
            for pid in new_children(keeper, known):
                end = time.monotonic() + delay
                while time.monotonic() < end:
                    pass
                known.add(pid)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:  # it had done its work: the next one
                    continue
                shot.append(pid)
                return

    thread = threading.Thread(target=hunt)
    thread.start()
    try:
        yield shot
    finally:
        over.set()
        thread.join()


def kill_and_wait(victims: set[int]) -> None:
    """Returns when the keeper knows of it."""
    assert victims, "there is nobody to kill"
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    assert census.until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in victims))


def create_honestly(control: client.Keeper, *arguments: object) -> client.Session | str:
    """A session, or the code of a typed refusal that came in time."""
    try:
        return control.create(*arguments)  # type: ignore[arg-type]
    except client.KeeperError as error:
        assert error.code in HONEST, error
        assert error.message
        return error.code
