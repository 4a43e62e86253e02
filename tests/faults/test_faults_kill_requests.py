# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of a reset or an end, and of the clients that asked for them."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import time

import census
import client
import keepers
import pytest
from killing import HONEST, KILLED, sniper, wait_death

pytestmark = pytest.mark.usefixtures("everything_as_before")


def reset_body(session: client.Session, keep_files: bool) -> bytes:
    return struct.pack("<QB", session.id, int(keep_files))


@pytest.mark.parametrize("keep_files", [False, True], ids=["wipe", "keep"])
def test_an_end_that_comes_during_a_reset_is_answered_and_leaves_nothing(
    control: client.Keeper, neighbour: client.Session, keep_files: bool
) -> None:
    for _ in range(5):
        session = control.create("bare")
        reset = control.start(client.wire.RESET, reset_body(session, keep_files))
        end = control.start(client.wire.END, struct.pack("<Q", session.id))

        with contextlib.suppress(client.KeeperError):  # it may be through already
            control.finish(reset)
        control.finish(end)

        assert session.id not in control.list()
        session.close()


def test_an_end_that_comes_during_a_create_is_answered_and_leaves_nothing(
    control: client.Keeper, neighbour: client.Session
) -> None:
    for _ in range(5):
        known = control.create("bare")
        known.end()
        create = keepers.start_unusual(control)
        end = control.start(client.wire.END, struct.pack("<Q", known.id + 1))

        with pytest.raises(client.KeeperError) as refused:
            control.finish(create)
        control.finish(end)

        assert refused.value.code == "unavailable"


@pytest.mark.parametrize("keep_files", [False, True], ids=["wipe", "keep"])
@pytest.mark.parametrize("delay_ms", [0.0, 1.0, 4.0])
def test_a_kill_during_a_reset_is_an_honest_refusal_or_a_death(
    keeper: keepers.Process,
    control: client.Keeper,
    neighbour: client.Session,
    keep_files: bool,
    delay_ms: float,
) -> None:
    for _ in range(3):
        keeper.wait_full()
        session = control.create("bare")
        session.close()
        with sniper(keeper, delay_ms / 1000) as shot:
            reset = control.start(client.wire.RESET, reset_body(session, keep_files))
            try:
                control.finish(reset)
            except client.KeeperError as error:
                assert error.code in {*HONEST, "unsupported"}, error
                makes_nobody = error.code == "unsupported"
            else:
                makes_nobody = False
            # The new worker, or who was made for the pool in its place: somebody was hit.
            assert makes_nobody or census.until(lambda: shot)
        with contextlib.suppress(client.KeeperError):  # a failed reset may have ended it
            control.call(client.wire.END, struct.pack("<Q", session.id))
        assert session.id not in control.list()


@pytest.mark.parametrize("victim", [2, 1], ids=["worker", "init"])
def test_a_reset_after_a_kill_gives_a_fresh_worker(
    control: client.Keeper, neighbour: client.Session, victim: int
) -> None:
    session = control.create("bare")
    session.run("x = 1")
    os.kill(keepers.session_pids(session)[victim], signal.SIGKILL)
    assert wait_death(session) == KILLED

    session.reset()

    assert session.run("'x' in globals()").texts == ["False"]
    session.end()


def start_client(keeper: keepers.Process, code: str | None) -> int:
    """A client in a process of its own, with a session in the state wanted when this returns."""
    said, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with keeper.connect() as mine:
                if code is None:
                    keepers.start_unusual(mine)
                else:
                    session = mine.create("bare")
                    session.run("x = 5")
                    if code:
                        session.begin(code)
                os.write(say, b".")
                time.sleep(keepers.SAFETY)
        finally:
            os._exit(1)
    os.close(say)
    assert os.read(said, 1) == b"."
    os.close(said)
    return pid


def kill_client(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_the_session_of_a_killed_idle_client_can_be_adopted(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    known = set(control.list())
    kill_client(start_client(keeper, ""))
    (orphan,) = set(control.list()) - known

    session = control.attach(orphan)

    assert session.run("x").texts == ["5"]
    session.end()


def test_an_execution_goes_on_when_its_client_is_killed(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    known = set(control.list())
    code = "import time\ntime.sleep(0.3)\nprint('went on')\nx + 1"
    kill_client(start_client(keeper, code))
    (orphan,) = set(control.list()) - known

    session = control.attach(orphan)
    execution = client.Execution(2)
    session.wait(execution)

    assert (execution.texts, execution.stdout) == (["6"], b"went on\n")
    session.end()


def test_a_client_killed_while_its_session_is_made_leaves_none_that_cannot_be_ended(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    known = set(control.list())
    for _ in range(5):
        kill_client(start_client(keeper, None))
    control.create().end()  # behind them in the line

    for orphan in set(control.list()) - known:  # its answer was on the way already
        session = control.attach(orphan)
        assert session.run("1 + 1").texts == ["2"]
        session.end()
    assert set(control.list()) == known
