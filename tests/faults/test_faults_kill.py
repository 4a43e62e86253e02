# SPDX-License-Identifier: Apache-2.0
"""kill -9 of workers and shells: idle, busy, waiting and while a session is being made of them.

The owner of a session is told what happened to it, its neighbour notices nothing, and everything is
as it was afterwards.
"""

from __future__ import annotations

import os
import signal

import census
import client
import keepers
import pytest
from killing import BUSY, KILLED, create_honestly, end_dead, kill_and_wait, sniper, wait_death

pytestmark = pytest.mark.usefixtures("everything_as_before")


@pytest.mark.parametrize("code", [None, BUSY], ids=["idle", "busy"])
@pytest.mark.parametrize("victim", [2, 1], ids=["worker", "init"])
def test_a_killed_worker_or_init_is_told_to_its_owner(
    control: client.Keeper, neighbour: client.Session, victim: int, code: str | None
) -> None:
    session = control.create("bare")
    pid = keepers.session_pids(session)[victim]
    if code:
        session.begin(code)
        assert census.until(lambda: census.state(pid) in "RS")

    os.kill(pid, signal.SIGKILL)

    assert wait_death(session) == KILLED
    end_dead(control, session)


@pytest.mark.parametrize("what", ["worker", "shell"])
@pytest.mark.parametrize("delay_ms", [0.0, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0])
def test_a_kill_while_a_session_is_made_is_an_honest_refusal_or_a_death(
    keeper: keepers.Process,
    control: client.Keeper,
    neighbour: client.Session,
    what: str,
    delay_ms: float,
) -> None:
    for _ in range(4):
        keeper.wait_full()
        limits = keepers.UNUSUAL if what == "shell" else None
        with sniper(keeper, delay_ms / 1000) as shot:
            made = create_honestly(control, "bare", "session", limits)
            # Killed after the hand-over, or not it but a shell for the pool was hit: somebody was.
            census.until(lambda: shot)
        if isinstance(made, str):
            continue
        if not census.within(lambda one=made: control.list()[one.id][0], 0.2):
            assert made.run("1 + 1").texts == ["2"]
        made.end()


def test_a_waiting_worker_that_is_killed_is_replaced(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    waiting = [
        pid
        for pid in census.belonging(keeper.pid, keeper.name, keeper.outer)
        if keeper.roles().name(pid) == "worker" and census.inner_pid(pid) == 2
    ]
    neighbours = keepers.session_pids(neighbour)[2]
    kill_and_wait(set(waiting) - {neighbours})

    keeper.wait_full()
    with control.create("loaded") as session:
        assert session.run("1 + 1").texts == ["2"]


def test_waiting_shells_that_are_killed_are_replaced(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    roles = keeper.roles()
    spared = keepers.session_pids(neighbour)[1]
    everybody = census.belonging(keeper.pid, keeper.name, keeper.outer)
    kill_and_wait({pid for pid in everybody if roles.name(pid) == "init"} - {spared})

    keeper.wait_full()
    with control.create("bare") as session:
        assert session.run("1 + 1").texts == ["2"]
