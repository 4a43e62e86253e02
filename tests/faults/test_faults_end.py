# SPDX-License-Identifier: Apache-2.0
"""The end of a keeper: killed, everything is gone soon and the next start sweeps; told to end, nothing
is left at all."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import census
import client
import keepers
import pytest

SMALL = ("--pool", "1", "--shells", "1", "--recycled", "2")
FREEZE = 17  # a verb that the engine's own client has no use for
PROMISE = 2.0  # seconds until a killed keeper's processes are gone

# A process that does all it can to stay: its own session, no parent, deaf, death signals cleared.
DAEMON = """
import ctypes, os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            if number not in (9, 19, 32, 33):
                signal.signal(number, signal.SIG_IGN)
        ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
        while True:
            time.sleep(1000)
    os._exit(0)
os.wait()
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
"""
STOPPED = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
FORKED = "import os, time\nfor _ in range(20):\n    if os.fork() == 0: time.sleep(1000)"
BUSY = "while True: pass"
DEAF = (
    "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
    "while True:\n  try:\n    while True: pass\n  except BaseException: pass"
)
WAITING = "input()"


def restless_sessions(control: client.Keeper, cgroups: bool) -> list[client.Session]:
    """Sessions in every state that might keep something alive."""
    sessions = []
    for code in (None, DAEMON, FORKED):
        sessions.append(control.create("bare"))
        if code:
            assert sessions[-1].run(code).outcome == "ok"
    for code in (STOPPED, BUSY, DEAF, WAITING):
        sessions.append(control.create("bare"))
        sessions[-1].begin(code, interactive=code == WAITING)
    sessions.append(control.create("loaded"))
    sessions.append(control.create("bare", "one_shot"))
    sessions.append(control.create("bare", "session", keepers.UNUSUAL))
    dead = control.create("bare")
    dead.kill()
    sessions.append(dead)
    if cgroups:
        frozen = control.create("bare")
        frozen.begin(BUSY)
        freeze(frozen)
        sessions.append(frozen)
    return sessions


def freeze(session: client.Session) -> None:
    session.keeper.call(FREEZE, struct.pack("<QB", session.id, 1))


def wait_gone(keeper: keepers.Process) -> float:
    """Seconds until no process is left that could ever run again."""
    start = time.monotonic()

    def gone() -> bool:
        return not any(map(census.alive, census.belonging(-1, keeper.name, keeper.outer)))

    assert census.within(gone, keepers.SAFETY), keeper.remains()
    return time.monotonic() - start


@pytest.fixture(params=keepers.USERS, ids=lambda uid: f"uid{uid}")
def keeper(request: pytest.FixtureRequest) -> Iterator[keepers.Process]:
    with keepers.started(*SMALL, uid=request.param) as one:
        yield one


@pytest.mark.serial
def test_a_killed_keeper_takes_everything_along_and_the_next_one_sweeps(
    keeper: keepers.Process, record_property: pytest.RecordProperty
) -> None:
    control = keeper.connect()
    cgroups = keeper.info()["isolation"]["cgroups"] != "none"
    sessions = restless_sessions(control, cgroups)
    assert len(census.belonging(keeper.pid, keeper.name, keeper.outer)) > 40

    keeper.process.kill()
    keeper.wait_end()
    seconds = wait_gone(keeper)
    record_property("seconds_until_all_gone", round(seconds, 3))

    assert seconds < PROMISE
    assert bool(census.cgroup_directories(keeper.name)) == cgroups
    assert os.path.exists(keeper.control)
    for session in sessions:
        session.close()
    # The same name, the same path: both were left behind.
    with keepers.started(
        *SMALL, uid=keeper.uid, name=keeper.name, directory=keeper.directory
    ) as again:
        with again.connect() as other:
            assert other.list() == {}
            with other.create("bare") as session:
                assert session.run("1 + 1").texts == ["2"]
        assert again.terminate() == 0
        assert again.remains() == []
        assert not os.path.exists(again.control)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_keeper_told_to_end_leaves_nothing(keeper: keepers.Process, signum: int) -> None:
    control = keeper.connect()
    cgroups = keeper.info()["isolation"]["cgroups"] != "none"
    restless_sessions(control, cgroups)
    number = keepers.start_unusual(control, "loaded")
    assert number

    assert keeper.terminate(signum) == 0

    assert "did not end in time" not in keeper.stderr
    assert keeper.remains() == []
    assert not os.path.exists(keeper.control)
    assert sorted(os.listdir(keeper.directory)) == ["log"]


@pytest.mark.parametrize("uid", keepers.USERS)
def test_a_keeper_can_be_ended_while_it_starts(uid: int) -> None:
    for delay in (0.0, 0.05, 0.2, 0.5):
        keeper = keepers.Process(*SMALL, uid=uid)
        try:
            assert census.until(lambda: os.path.exists(keeper.control))  # noqa: B023
            time.sleep(delay)  # not waited for: the moment is what differs
            keeper.process.terminate()
            code = keeper.wait_end()
            # Before it listens to signals they end it at once.
            assert code in (0, -signal.SIGTERM), keeper.stderr
            assert census.until(lambda: not keeper.remains() or code != 0)  # noqa: B023
        finally:
            keeper.discard()


@pytest.mark.parametrize("uid", keepers.USERS)
def test_a_second_keeper_by_mistake_does_not_touch_the_first(uid: int) -> None:
    with keepers.started(*SMALL, uid=uid) as first, first.connect() as control:
        session = control.create("bare")
        session.run("x = 3")

        second = keepers.Process(*SMALL, uid=uid, name=first.name, directory=first.directory)
        code = second.wait_end()

        assert code == 1
        assert "conflict: the control socket's path is in use" in second.stderr
        assert "remedy:" in second.stderr
        assert session.run("x").texts == ["3"]
        session.end()


def test_a_file_in_the_place_of_the_control_socket_is_not_replaced(tmp_path: Path) -> None:
    keeper = keepers.Process(*SMALL, uid=os.geteuid(), directory=tmp_path)
    keeper.discard()
    Path(keeper.control).write_text("precious")

    again = keepers.Process(*SMALL, uid=os.geteuid(), directory=tmp_path)

    assert again.wait_end() == 1
    assert "conflict" in again.stderr
    assert Path(keeper.control).read_text() == "precious"


def test_everything_ends_with_a_keeper_whose_parent_is_killed(tmp_path: Path) -> None:
    """A keeper started by a shell that dies is an ordinary orphan: it goes on."""
    if os.geteuid() != 0:
        pytest.skip("one user is enough")
    control = tmp_path / "control"
    command = f"{keepers.PROGRAM} --control {control} --name orphan-{os.getpid()} --pool 0 &"
    command += " echo $!; wait"
    shell = subprocess.Popen(
        ["/bin/sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    try:
        assert b"ready" in shell.stdout.readline()
        shell.kill()
        shell.wait()
        with client.Keeper(str(control)) as keeper, keeper.create("bare") as session:
            assert session.run("1 + 1").texts == ["2"]
    finally:
        os.kill(pid, signal.SIGTERM)
        assert census.until(lambda: not census.alive(pid))
