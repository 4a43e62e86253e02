# SPDX-License-Identifier: Apache-2.0
"""Interrupts and deadlines one by one: to whom they belong, and when they come too late."""

from __future__ import annotations

import pytest
from client import Execution, Keeper, Session
from engine_keepers import KeeperProcess, both_modes, eventually

import wire


def begin_and_reach(session: Session, code: str) -> Execution:
    """Starts code and waits until it printed `at it`."""
    execution = session.begin(f"print('at it', flush=True)\n{code}")
    session.wait(execution, until=lambda: b"at it\n" in execution.stdout)
    return execution


@both_modes
@pytest.mark.parametrize(
    "code",
    [
        "import time\ntime.sleep(60)",
        "while True: pass",
        "import subprocess\nsubprocess.run(['sleep', '60'])",
        "import asyncio\nawait asyncio.sleep(60)",
        "import threading\nthreading.Event().wait()",
    ],
)
def test_an_interrupt_ends_the_execution_and_keeps_the_state(session: Session, code: str) -> None:
    session.run("x = 'kept'")

    execution = begin_and_reach(session, code)
    session.interrupt()
    session.wait(execution)

    assert (execution.outcome, execution.exit_code, execution.state_kept) == (
        "interrupted",
        130,
        True,
    )
    assert execution.error is not None and execution.error["name"] == "KeyboardInterrupt"
    assert session.run("x").texts == ["'kept'"]


def test_an_interrupted_shell_command_leaves_no_process(
    process: KeeperProcess, session: Session
) -> None:
    session.run("!cp /usr/bin/sleep slumber")
    execution = session.begin("!./slumber 1000")
    assert eventually(lambda: len(process.named("slumber")) == 1)

    session.interrupt()
    session.wait(execution)

    assert execution.outcome == "interrupted"
    assert eventually(lambda: not process.named("slumber"), 5.0)


def test_an_interrupt_while_waiting_for_input_ends_the_execution(session: Session) -> None:
    execution = session.begin("input('? ')", interactive=True)
    session.wait(execution, until=lambda: bool(execution.bodies(wire.INPUT_REQUEST)))

    session.interrupt()
    session.wait(execution)

    assert execution.outcome == "interrupted"
    assert session.run("1").texts == ["1"]


def test_code_may_catch_an_interrupt_and_go_on(session: Session) -> None:
    execution = session.begin(
        "import time\ntry:\n    print('at it', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('caught')\n'value'",
    )
    session.wait(execution, until=lambda: b"at it\n" in execution.stdout)

    session.interrupt()
    session.wait(execution)

    assert (execution.outcome, execution.texts) == ("ok", ["'value'"])
    assert execution.stdout == b"at it\ncaught\n"


@both_modes
def test_an_interrupt_for_an_earlier_execution_does_nothing(session: Session) -> None:
    session.run("1")
    session.run("2")
    execution = session.begin("input()", interactive=True)
    session.wait(execution, until=lambda: bool(execution.bodies(wire.INPUT_REQUEST)))

    for late in (1, 2, 4, 0, 1 << 32):
        session.interrupt(late)
    session.answer(b"calm\n")
    session.wait(execution)

    assert (execution.outcome, execution.texts) == ("ok", ["'calm'"])


def test_an_interrupt_of_an_idle_session_does_not_hit_the_next_execution(session: Session) -> None:
    session.run("1")

    for execution in (0, 1, 3, 1 << 32):
        session.interrupt(execution)
    ran = [session.run("sum(range(100_000))") for _ in range(3)]

    assert [one.outcome for one in ran] == ["ok"] * 3


@both_modes
def test_an_interrupt_that_comes_before_its_execution_begins_is_kept_for_it(
    session: Session,
) -> None:
    session.interrupt(1)

    stopped = session.run("while True: pass")

    assert (stopped.outcome, session.run("'calm'").texts) == ("interrupted", ["'calm'"])


def test_an_interrupt_right_behind_the_code_is_never_lost(session: Session) -> None:
    for _ in range(200):
        execution = session.begin("while True: pass")
        session.keeper.post(wire.INTERRUPT, wire_numbers(session.id, execution.id))
        session.wait(execution)

        assert execution.outcome == "interrupted"
    assert session.run("'calm'").texts == ["'calm'"]


def test_a_storm_of_interrupts_hits_one_execution_only(session: Session) -> None:
    for _ in range(20):
        execution = begin_and_reach(session, "while True: pass")
        for _ in range(50):
            session.keeper.post(wire.INTERRUPT, wire_numbers(session.id, execution.id))
        session.wait(execution)

        assert execution.outcome == "interrupted"
        assert session.run("'calm'").texts == ["'calm'"]


def wire_numbers(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(8, "little") for number in numbers)


@both_modes
def test_the_stack_of_running_code_is_told_without_stopping_it(session: Session) -> None:
    code = "go = True\ndef outer():\n    inner()\ndef inner():\n    input()\nouter()"
    execution = session.begin(code, interactive=True)
    session.wait(execution, until=lambda: bool(execution.bodies(wire.INPUT_REQUEST)))

    session.verb(wire.ASK_STACK, execution.id)
    session.wait(execution, until=lambda: bool(execution.stacks))
    session.answer(b"on\n")
    session.wait(execution)

    lines = [line.strip() for line in execution.stacks[0].splitlines() if "<cell" in line]
    assert lines == [
        'File "<cell 1>", line 5 in inner',
        'File "<cell 1>", line 3 in outer',
        'File "<cell 1>", line 6 in <module>',
    ]
    assert execution.outcome == "ok"


@pytest.mark.parametrize(
    "code", ["import asyncio\nawait asyncio.sleep(60)", "import time\ntime.sleep(60)"]
)
def test_no_interrupt_is_lost_on_the_way_into_a_system_call(keeper: Keeper, code: str) -> None:
    """In fresh sessions, whose pages are cold: the moment between Python's last look at its flags
    and the call is long then."""
    for _ in range(120):
        with keeper.create() as session:
            execution = begin_and_reach(session, code)
            session.interrupt()
            session.wait(execution, limit=10)
            assert execution.outcome == "interrupted"


def test_the_stack_of_a_deadline_is_taken_before_the_interrupt_strikes(session: Session) -> None:
    """Also where other threads could be given the one signal and the main thread the other."""
    session.run(
        "import threading, time\nlock = threading.Lock()\nlock.acquire()\n"
        "for _ in range(30): threading.Thread(target=time.sleep, args=(99,), daemon=True).start()"
    )

    for number in range(2, 42):
        ran = begin_and_reach(session, "lock.acquire()")
        session.watch(ran.id, 0.005)
        session.wait(ran)
        session.verb(wire.UNWATCH, ran.id)

        assert ran.claim == "interrupted"
        assert f'File "<cell {number}>", line 2 in <module>' in ran.stacks[0]


def test_the_stack_of_an_idle_session_is_nothing(session: Session) -> None:
    session.run("1")

    session.verb(wire.ASK_STACK, 1)

    assert session.run("2").stacks == []


def test_a_deadline_that_is_called_off_does_nothing(session: Session) -> None:
    ran = session.run("1", timeout=0.05)
    later = session.run("import time\ntime.sleep(0.3)\n'done'")

    assert ran.outcome == "ok"
    assert (later.outcome, later.texts, later.timed_out) == ("ok", ["'done'"], False)


def test_a_new_deadline_replaces_the_old_one(session: Session) -> None:
    session.watch(1, 0.05)
    session.watch(1, 30)

    ran = session.run("import time\ntime.sleep(0.3)\n'done'")

    assert (ran.outcome, ran.texts) == ("ok", ["'done'"])
    session.verb(wire.UNWATCH, 1)


@both_modes
def test_a_session_that_is_killed_says_so(session: Session) -> None:
    execution = begin_and_reach(session, "import time\nwhile True: time.sleep(60)")

    session.kill()
    session.wait(execution)

    assert (execution.outcome, execution.state_kept) == ("killed", False)
    assert session.is_dead()


@both_modes
def test_a_busy_session_can_be_ended_at_once(process: KeeperProcess, keeper: Keeper) -> None:
    session = keeper.create()
    session.run("import ctypes; ctypes.CDLL(None).prctl(15, b'busy')")
    begin_and_reach(
        session, "import signal\nsignal.pthread_sigmask(0, range(1, 65))\nwhile 1: pass"
    )
    assert len(process.named("busy")) == 1

    session.end()

    assert not process.named("busy")
    assert session.id not in keeper.list()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGUSR1", "SIGRTMIN", "SIGALRM"])
def test_signals_that_user_code_sends_itself_are_no_interrupts(session: Session, name: str) -> None:
    ran = session.run(
        f"import os, signal, time\nsignal.signal(signal.{name}, lambda *_: print('handled'))\n"
        f"for i in range(34, 65):\n"
        f"    if i == signal.{name}: continue\n"
        f"    try: os.kill(os.getpid(), i) if i in (37, 38) else None\n"
        f"    except OSError: pass\n"
        f"os.kill(os.getpid(), signal.{name})\n'end'"
    )

    assert (ran.outcome, ran.texts, ran.stdout) == ("ok", ["'end'"], b"handled\n")
