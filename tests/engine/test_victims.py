# SPDX-License-Identifier: Apache-2.0
"""Attacks that end a session, a worker or a keeper: what is left afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from client import Keeper, Session
from engine_keepers import KeeperProcess, both_modes, descendants, eventually, processes

pytestmark = both_modes

# Double forks, new sessions, every signal ignored, no death signal: nothing but SIGKILL ends these.
DAEMONS = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
libc.prctl(1, 0)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        for n in range(1, 65):
            try: signal.signal(n, signal.SIG_IGN)
            except (OSError, ValueError): pass
        if os.fork() == 0:
            os.setsid()
            libc.prctl(1, 0)
            libc.prctl(15, NAME)
            os.closerange(0, 1000)
            while True: signal.pause()
        os._exit(0)
for _ in range(5): os.wait()
libc.prctl(15, NAME)
"""


def start_daemons(process: KeeperProcess, session: Session, name: str) -> list[int]:
    ran = session.run(f"NAME = b'{name}'" + DAEMONS)
    assert ran.outcome == "ok", ran.error
    assert eventually(lambda: len(process.named(name)) == 6)
    return process.named(name)


def test_a_session_that_ends_takes_its_daemons_along(
    process: KeeperProcess, keeper: Keeper
) -> None:
    """[P02]"""
    session = keeper.create()
    daemons = start_daemons(process, session, "undying")

    session.end()

    assert not set(daemons) & processes().keys()


def test_a_worker_that_dies_takes_its_daemons_along(process: KeeperProcess, keeper: Keeper) -> None:
    """[P02]"""
    session = keeper.create()
    daemons = start_daemons(process, session, "orphaned")

    session.run("import os; os._exit(0)")

    assert eventually(lambda: not set(daemons) & processes().keys(), 5.0)


def test_everything_dies_with_the_keeper(start_keeper) -> None:
    """[P03]"""
    process = start_keeper("--pool", "0", "--shells", "1")
    with process.connect() as keeper:
        daemons = start_daemons(process, keeper.create(), "surviving")

        process.process.kill()
        process.process.wait()

        assert eventually(lambda: not set(daemons) & processes().keys(), 10.0)


def test_a_keeper_that_is_told_to_end_leaves_nothing(start_keeper) -> None:
    process = start_keeper("--pool", "1", "--shells", "1")
    with process.connect() as keeper:
        start_daemons(process, keeper.create(), "lingering")
        keeper.create("loaded").begin("while True: pass")
        family = descendants(process.process.pid)

        process.process.terminate()

        assert process.process.wait(60) == 0
        assert not family & processes().keys()
        assert not Path(process.path).exists()


def test_a_worker_may_stop_everything_it_reaches(keeper: Keeper, mode: str) -> None:
    """[P05]"""
    session = keeper.create()

    ran = session.run(
        "import os, signal, subprocess\nps = [subprocess.Popen(['sleep', '99']) for _ in range(5)]\n"
        "for p in ps: os.kill(p.pid, signal.SIGSTOP)\n"
        "os.kill(-1, signal.SIGSTOP); os.kill(os.getpid(), signal.SIGSTOP)",
        timeout=0.3,
    )

    assert (ran.outcome, ran.death and ran.death[0]) == ("timeout", "timeout")


@pytest.mark.parametrize("loop", ["while True: pass", "sum(range(10**12))"])
def test_a_worker_that_closes_its_socket_is_noticed_and_ends_with_its_time(
    session: Session, loop: str
) -> None:
    """[P10]"""
    session.watch(1, 0.5)
    execution = session.begin(f"import os\nos.close(1023)\n{loop}")

    session.wait(execution, until=lambda: session.channel.fileno() in session.ended)
    session.wait(execution)

    # Code that yields finds nobody to tell and leaves; the other is killed.
    assert execution.timed_out and execution.claim is None
    assert execution.death is not None and execution.death[0] in ("timeout", "exited")


def test_a_worker_that_replaces_itself_is_still_jailed_and_soon_dead(session: Session) -> None:
    """[P12]"""
    ran = session.run(
        "import os\nos.execv('/bin/sh', ['sh', '-c', 'id -u; ls /proc/self/fd;"
        ' grep -E "CapEff|Seccomp:" /proc/self/status; touch /usr/x; exit 9\'])'
    )

    assert ran.death == ("exited", 9)
    assert ran.stdout.split()[:1] == [b"1000"]
    assert b"1023" not in ran.stdout.split()
    assert b"CapEff:\t0000000000000000" in ran.stdout and b"Seccomp:\t2" in ran.stdout
    assert b"Read-only file system" in ran.stderr or b"Permission denied" in ran.stderr


def test_a_neighbour_is_served_while_others_misbehave(keeper: Keeper) -> None:
    bad = [
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        "import os\nwhile True: os.write(1, b'x' * 65536)",
        "x = []\nwhile True: x.append(b'x' * (1 << 20))",
        "import threading\nwhile True:\n    try: threading.Thread(target=lambda: sum(range(10**9)))"
        ".start()\n    except RuntimeError: pass",
    ]
    sessions = [keeper.create() for _ in bad]
    for session, code in zip(sessions, bad, strict=True):
        session.begin(code)

    good = keeper.create()
    for n in range(20):
        assert good.run(f"{n} + 1").texts == [str(n + 1)]

    for session in sessions:
        session.end()


@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGSTOP"])
def test_killing_all_it_can_reach_hurts_only_the_session(
    keeper: Keeper, session: Session, signal_name: str
) -> None:
    """[P04]"""
    neighbour = keeper.create()

    ran = session.run(
        f"import os, signal\ntry: os.kill(-1, signal.{signal_name})\nexcept OSError: pass\n"
        f"try: os.kill(1, signal.{signal_name})\nexcept OSError: pass\n'alive'"
    )

    assert ran.texts == ["'alive'"]
    assert session.run("import subprocess\nsubprocess.getoutput('echo on')").texts == ["'on'"]
    assert neighbour.run("1").texts == ["1"]
