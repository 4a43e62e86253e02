# SPDX-License-Identifier: Apache-2.0
"""Clients that die, at every point; the next one takes the session over and misses nothing."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from client import Execution, Keeper, KeeperError, Session
from engine_keepers import KeeperProcess, both_modes, eventually

import wire

HERE = Path(__file__).parent
BIG = "display({'text/plain': ''.join(map(str, range(120_000)))}, raw=True)"
BIG_TEXT = "".join(map(str, range(120_000)))

# A client of its own: does what it is told, says so, and waits to be killed.
DOOMED = """
import sys
sys.path.insert(0, sys.argv[1])
import client, wire
keeper = client.Keeper(sys.argv[2])
session = keeper.create()
{body}
print(session.id, flush=True)
sys.stdin.read()
"""


def kill_client(process: KeeperProcess, body: str) -> int:
    """Runs a client, kills it with SIGKILL and gives the session that it had."""
    with subprocess.Popen(
        [sys.executable, "-c", DOOMED.format(body=body), str(HERE), process.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as doomed:
        assert doomed.stdout is not None
        line = doomed.stdout.readline()
        doomed.kill()
    return int(line)


def freeze_or_skip(session: Session) -> None:
    try:
        session.freeze()
    except KeeperError as error:
        assert error.code == "unsupported", error
        pytest.skip("this host gives no cgroups to freeze with")


@pytest.fixture
def abandon(process: KeeperProcess) -> Callable[[Callable[[Session], object]], int]:
    """Makes a client, lets it act on a session, and closes everything of it at once."""

    def act_and_vanish(act: Callable[[Session], object]) -> int:
        with process.connect() as keeper:
            session = keeper.create()
            act(session)
            session.close()
            return session.id

    return act_and_vanish


@both_modes
def test_an_idle_session_outlives_its_client(keeper: Keeper, abandon) -> None:
    id = abandon(lambda session: session.run("x = 'kept'"))

    session = keeper.attach(id)
    last = session.resume()

    assert (last.id, last.claim, last.messages[0].kind) == (1, "ok", wire.READY)
    assert last.messages[0].replay
    assert session.run("x").texts == ["'kept'"]


@both_modes
def test_a_session_that_never_ran_anything_is_taken_over(keeper: Keeper, abandon) -> None:
    id = abandon(lambda session: None)

    session = keeper.attach(id)
    last = session.resume()

    assert (last.id, last.claim) == (0, None)
    assert session.run("1").texts == ["1"]


@both_modes
def test_every_message_of_the_last_execution_is_sent_again(keeper: Keeper, abandon) -> None:
    code = "display(1)\ndisplay(2)\nprint('out')\n1 / 0"
    seen: list[Execution] = []
    id = abandon(lambda session: seen.append(session.run(code)))

    last = keeper.attach(id).resume()

    assert [m.kind for m in last.messages[1:]] == [m.kind for m in seen[0].messages]
    assert [m.payload for m in last.messages[1:]] == [m.payload for m in seen[0].messages]
    assert all(m.replay for m in last.messages)
    assert (last.texts, last.error, last.outcome) == (["1", "2"], seen[0].error, "exception")


def test_a_replay_can_be_had_again_and_again(keeper: Keeper, abandon) -> None:
    id = abandon(lambda session: session.run("'value'"))
    session = keeper.attach(id)

    for _ in range(5):
        assert session.resume().texts == ["'value'"]


@both_modes
def test_a_running_execution_goes_on_and_its_messages_arrive(keeper: Keeper, abandon) -> None:
    def start(session: Session) -> None:
        code = "display('before'); print('early', flush=True); input()\ndisplay('after')\n'value'"
        execution = session.begin(code, interactive=True)
        session.wait(execution, until=lambda: bool(execution.bodies(wire.INPUT_REQUEST)))

    session = keeper.attach(abandon(start))
    session.execution = 1
    session.answer(b"go on\n")
    last = session.resume()

    assert last.stdout == b""  # the client before had read it
    assert (last.texts, last.claim) == (["'before'", "'after'", "'value'"], "ok")
    assert len(last.bodies(wire.FINISHED)) == 1


@both_modes
def test_a_question_that_was_asked_is_asked_again(keeper: Keeper, abandon) -> None:
    def start(session: Session) -> None:
        execution = session.begin("display(1)\ninput('Name? ')", interactive=True)
        session.wait(execution, until=lambda: bool(execution.bodies(wire.INPUT_REQUEST)))

    session = keeper.attach(abandon(start))
    last = session.resume(until=lambda execution: bool(execution.bodies(wire.INPUT_REQUEST)))
    assert (last.texts, last.claim) == (["1"], None)
    assert last.bodies(wire.INPUT_REQUEST) == [{"prompt": "Name? ", "password": False}]
    session.answer(b"Ada\n")
    session.wait(last)

    assert (last.texts, last.claim) == (["1", "'Ada'"], "ok")


@both_modes
def test_a_client_killed_while_code_runs_loses_nothing(
    process: KeeperProcess, keeper: Keeper
) -> None:
    id = kill_client(process, "session.begin('import time\\ntime.sleep(0.2)\\nprint(5)\\n6')")

    session = keeper.attach(id)
    last = session.resume()

    assert (last.texts, last.stdout, last.claim) == (["6"], b"5\n", "ok")


def test_a_client_killed_while_idle_loses_nothing(process: KeeperProcess, keeper: Keeper) -> None:
    id = kill_client(process, "session.run('x = 7')")

    session = keeper.attach(id)

    assert session.resume().claim == "ok"
    assert session.run("x").texts == ["7"]


@both_modes
def test_half_an_execution_that_was_sent_is_forgotten(
    process: KeeperProcess, keeper: Keeper
) -> None:
    id = kill_client(
        process,
        "session.run('x = 8')\n"
        "frames = wire.frames(wire.EXECUTE, 2, wire.execute_payload('#' * 300_000))\n"
        "for frame in frames[:3]: session.channel.send(frame)",
    )

    session = keeper.attach(id)
    last = session.resume()

    assert (last.id, last.claim) == (1, "ok")
    assert session.run("x").texts == ["8"]


@both_modes
@pytest.mark.parametrize("frames", [1, 3, 7])
def test_half_a_result_that_was_read_is_sent_again_whole(
    process: KeeperProcess, keeper: Keeper, frames: int
) -> None:
    id = kill_client(
        process,
        f"session.begin({BIG + chr(10) + 'None'!r})\nfor _ in range({frames}): session.channel.recv(1 << 16)",
    )

    session = keeper.attach(id)
    last = session.resume()

    assert last.texts == [BIG_TEXT]
    assert last.claim == "ok"


def test_output_that_nobody_read_is_there_for_the_next_client(keeper: Keeper, abandon) -> None:
    def start(session: Session) -> None:
        execution = session.begin("print('x' * 50_000)\ninput()", interactive=True)
        while not execution.bodies(wire.INPUT_REQUEST):
            session._read_channel(execution, None)

    session = keeper.attach(abandon(start))
    session.execution = 1
    session.answer(b"\n")

    assert session.resume().stdout == b"x" * 50_000 + b"\n"


@both_modes
def test_a_session_can_be_taken_over_again_and_again(process: KeeperProcess, abandon) -> None:
    id = abandon(lambda session: session.run("n = 0"))

    for turn in range(10):
        with process.connect() as keeper:
            session = keeper.attach(id)
            session.resume()
            assert session.run("n += 1\nn").texts == [str(turn + 1)]
            session.close()


def test_the_former_owner_hears_no_more_of_a_session(
    process: KeeperProcess, keeper: Keeper
) -> None:
    with process.connect() as first:
        session = first.create()
        taken = keeper.attach(session.id)
        taken.execution = 0

        died = taken.run("import os; os._exit(4)")

        assert died.death == ("exited", 4)
        first.pump_ready()
        assert first.events == []


@both_modes
def test_a_deadline_holds_while_nobody_listens(keeper: Keeper, abandon) -> None:
    def start(session: Session) -> None:
        session.watch(1, 0.2)
        session.begin("sum(range(10**12))")

    id = abandon(start)

    assert eventually(lambda: keeper.list()[id][0])
    with pytest.raises(KeeperError) as refused:
        keeper.attach(id)
    assert refused.value.code == "unavailable"


@both_modes
def test_the_next_client_is_told_why_a_session_died_meanwhile(keeper: Keeper, abandon) -> None:
    def start(session: Session) -> None:
        session.watch(1, 0.2)
        session.begin("sum(range(10**12))")

    id = abandon(start)
    assert eventually(lambda: keeper.list()[id][0])

    with pytest.raises(KeeperError) as refused:
        keeper.attach(id)
    keeper.pump_ready()

    told = ("died", id, ("timeout", signal.SIGKILL)) in keeper.events
    assert told or "time" in refused.value.message, "nobody can know why it died"


@both_modes
def test_code_that_yields_to_a_deadline_while_nobody_listens_keeps_its_state(
    keeper: Keeper, abandon
) -> None:
    def start(session: Session) -> None:
        session.run("x = 'kept'")
        session.watch(2, 0.2)
        session.begin("import time\ntime.sleep(60)")

    id = abandon(start)
    eventually(lambda: keeper.list()[id] != (False, 2), 1.6)  # the time and the grace

    session = keeper.attach(id)
    last = session.resume()
    assert (last.claim, last.error and last.error["name"]) == ("interrupted", "KeyboardInterrupt")
    assert last.timed_out, "it looks as if somebody had interrupted it"
    assert session.run("x").texts == ["'kept'"]


@both_modes
def test_sessions_are_listed_with_what_is_being_watched(keeper: Keeper) -> None:
    idle, busy, dead = (keeper.create() for _ in range(3))
    busy.watch(1, 60)
    busy.begin("import time\ntime.sleep(60)")
    dead.run("import os; os._exit(0)")

    assert keeper.list() == {idle.id: (False, 0), busy.id: (False, 1), dead.id: (True, 0)}


@both_modes
def test_two_clients_may_share_a_keeper(process: KeeperProcess, keeper: Keeper) -> None:
    with process.connect() as other:
        mine, theirs = keeper.create(), other.create()
        theirs.run("import os; os._exit(3)")

        assert mine.run("1").texts == ["1"]
        assert keeper.events == []
        assert set(other.list()) == {mine.id, theirs.id}


@pytest.mark.parametrize("verb", [wire.CREATE, wire.RESET, wire.ATTACH])
def test_descriptors_for_a_client_that_is_gone_are_not_kept(
    process: KeeperProcess, keeper: Keeper, verb: int
) -> None:
    session = keeper.create()
    body = struct.pack("<Q", session.id) + (b"\0" if verb == wire.RESET else b"")
    if verb == wire.CREATE:
        body = b"\0\0" + wire.Limits().encode() + wire.unadorned()
    keeper.info()
    before = process.descriptors()

    for _ in range(20):
        with process.connect() as hasty:
            hasty.start(verb, body)
    with process.connect() as last:
        last.end_all()

    # Twenty answers have sixty; pools that are being refilled have a few.
    assert eventually(lambda: process.descriptors() < before + 20)


@both_modes
def test_a_frozen_session_is_listed_as_frozen_and_continues_when_it_is_taken_over(
    keeper: Keeper, abandon
) -> None:
    def freeze(session: Session) -> None:
        session.run("x = 'kept'")
        freeze_or_skip(session)

    id = abandon(freeze)
    assert keeper.list() and keeper.frozen == {id}

    session = keeper.attach(id)

    assert session.resume().claim == "ok"
    assert session.run("x").texts == ["'kept'"]
    assert keeper.list() and keeper.frozen == set()


@both_modes
def test_a_frozen_session_is_reset_and_keeps_its_files(session: Session) -> None:
    session.run("open('kept', 'w').write('x')")
    freeze_or_skip(session)

    session.reset(keep_files=True)

    assert session.run("open('kept').read()").texts == ["'x'"]


@both_modes
@pytest.mark.parametrize("last", ["kill", "reset", "end"])
def test_nothing_waits_for_what_is_frozen(session: Session, last: str) -> None:
    session.begin("while True: pass")
    freeze_or_skip(session)

    if last == "kill":
        session.kill()
        assert eventually(session.is_dead)
    elif last == "reset":
        session.reset()
        session.execution = 0
        assert session.run("1").texts == ["1"]
    else:
        session.end()


@both_modes
def test_a_deadline_holds_for_code_that_is_frozen(session: Session) -> None:
    session.run("x = 'kept'")
    execution = session.begin("import time\ntime.sleep(60)")
    session.watch(execution.id, 0.2)
    freeze_or_skip(session)

    session.wait(execution)

    assert (execution.claim, execution.timed_out) == ("interrupted", True)


@both_modes
def test_each_client_finds_the_answer_to_its_own_resume(
    process: KeeperProcess, keeper: Keeper, abandon
) -> None:
    """Two have asked and died while the worker was busy: it answers them, too."""
    id = abandon(lambda session: session.begin("import time\ntime.sleep(0.5)\n'value'"))
    for _ in range(2):
        with process.connect() as doomed:
            doomed.attach(id).ask_to_resume()

    session = keeper.attach(id)

    assert session.resume().texts == ["'value'"]
    assert session.run("6 * 7").texts == ["42"]
