# SPDX-License-Identifier: Apache-2.0
"""Workers that lie: session code writes frames of its own making to the session socket."""

from __future__ import annotations

import os

import pytest
from client import Execution, Keeper, Session
from engine_keepers import KeeperProcess, both_modes

import wire

# `send` and `frame` for code in a session, as far from our own code as session code can be.
FORGE = """
import os, socket, struct
s = socket.socket(fileno=os.dup(1023))
def frame(kind, payload=b'', execution=2, sequence=0, flags=0, magic=0x5456, length=None):
    length = len(payload) if length is None else length
    return struct.pack('<HBBB3xQII', magic, 1, kind, flags, execution, sequence, length) + payload
OK = b'\\0\\0'
"""


def forge(session: Session, code: str) -> Execution:
    session.run(FORGE)
    return session.run(code)


@both_modes
def test_a_worker_that_says_finished_and_dies_is_dead(session: Session) -> None:
    ran = forge(session, "s.send(frame(70, OK))\nos._exit(3)")
    session.wait_for_death(ran)

    assert (ran.claim, ran.death) == ("ok", ("exited", 3))
    assert ran.outcome == "crashed"
    assert session.is_dead()


@both_modes
@pytest.mark.parametrize(
    "ending", ["os._exit(0)", "os.kill(os.getpid(), 11)", "sum(range(10**12))"]
)
def test_the_cause_of_death_is_never_the_workers_word(session: Session, ending: str) -> None:
    session.run(FORGE)
    session.watch(2, 0.3)
    ran = session.begin(f"s.send(frame(70, bytes([3, 124])))\n{ending}")
    session.wait(ran)
    session.wait_for_death(ran)

    assert (ran.claim, ran.exit_code) == ("interrupted", 124)
    expected = {"os._exit(0)": "exited", "os.kill(os.getpid(), 11)": "signalled"}
    assert ran.death is not None and ran.death[0] == expected.get(ending, "timeout")


@both_modes
@pytest.mark.parametrize(
    "code",
    [
        "s.send(b'')",
        "s.send(b'x')",
        "s.send(b'\\0' * 65536)",
        "s.send(frame(70, OK, magic=1))",
        "s.send(frame(70, OK, length=0xFFFFFFFF))",
        "s.send(frame(70, OK, length=1))",
        "s.send(frame(99))",
        "s.send(frame(2, OK))",
        "s.send(frame(70, b'\\x09\\x00'))",
        "s.send(frame(70, b''))",
        "s.send(frame(70, OK, sequence=5))",
        "s.send(frame(70, OK, flags=128))",
        "s.send(frame(65, b'\\xff' * 100))",
        "s.send(frame(67, b'\\xff\\xfe'))",
        "s.send(frame(67, b'x', flags=1)); s.send(frame(66, b'x', sequence=1, flags=2))",
        "s.send(frame(65, b'x', flags=2))",
        "s.send(frame(67, b'x', flags=1)); s.send(frame(64, b'x'))",
        "s.setsockopt(1, 7, 1 << 20); s.send(b'x' * 100_000)",
    ],
)
def test_a_frame_that_lies_is_noticed(session: Session, code: str) -> None:
    session.run(FORGE)
    execution = session.begin(code + "\nimport time\ntime.sleep(60)")

    session.wait(execution, until=lambda: session.channel.fileno() in session.ended, limit=10)

    assert execution.lie is not None or session.channel.fileno() in session.ended
    session.kill()
    session.wait_for_death(execution)


def test_frames_for_other_executions_end_none(session: Session) -> None:
    session.run(FORGE)
    execution = session.begin(
        "for n in (0, 1, 3, 1 << 63): s.send(frame(70, OK, execution=n))\ninput()", interactive=True
    )

    session.wait(execution, until=lambda: len(execution.bodies(wire.FINISHED)) == 4)

    assert execution.claim is None
    session.kill()


def test_a_worker_may_send_no_descriptor(process: KeeperProcess, session: Session) -> None:
    session.run(FORGE)
    before = process.descriptors() + open_descriptors()
    ran = session.begin(
        "for _ in range(100):\n"
        "    try: socket.send_fds(s, [frame(67, b'x', sequence=_)], [0] * 200)\n"
        "    except OSError: s.send(frame(67, b'x', sequence=_))\n"
        "s.send(frame(70, OK, sequence=100))\ninput()",
        interactive=True,
    )
    session.wait(ran)

    assert (ran.claim, len(ran.notes)) == ("ok", 100)
    # The pools come and go meanwhile; what was sent is a hundred times more.
    assert process.descriptors() + open_descriptors() < before + 100


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@both_modes
def test_an_endless_message_is_cut_off(process: KeeperProcess, keeper: Keeper) -> None:
    session = keeper.create()
    session.run(FORGE)
    before = process.resident_kib()
    execution = session.begin(
        "n = 0\nwhile True:\n    s.send(frame(65, bytes(65000), sequence=n, flags=3 if n else 1))\n"
        "    n += 1"
    )

    session.wait(execution)

    assert execution.lie is not None and "too long" in str(execution.lie)
    assert process.resident_kib() - before < 4 * 1024


@both_modes
def test_frames_that_nobody_reads_hold_the_worker_up(
    process: KeeperProcess, keeper: Keeper
) -> None:
    session = keeper.create()
    session.run(FORGE)
    before = process.resident_kib()
    execution = session.begin(
        "n = 0\ns.settimeout(1)\ntry:\n    while n < 100_000:\n"
        "        s.send(frame(67, bytes(1000), sequence=n)); n += 1\n"
        "except TimeoutError: pass\nprint(n, flush=True)"
    )

    stdout = next(fd for fd, name in session.streams.items() if name == "stdout")
    sent = int(os.read(stdout, 100))
    session.wait(execution)

    assert sent < 2000
    assert process.resident_kib() - before < 4 * 1024


@both_modes
def test_a_worker_in_the_pool_is_not_replaced_by_a_lying_neighbour(keeper: Keeper) -> None:
    """A ready frame of a session that runs says nothing to the keeper."""
    session = keeper.create()
    session.run(FORGE)
    ran = session.begin("s.send(frame(64, b'\\1\\0\\0\\0x' + bytes(8)))\ninput()", interactive=True)
    session.wait(ran, until=lambda: bool(ran.bodies(wire.READY)))

    assert keeper.create().run("1").texts == ["1"]
    session.end()
