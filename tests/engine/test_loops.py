# SPDX-License-Identifier: Apache-2.0
"""The picture of an execution, and loops that end after it: the parts that need the real worker. What
toolkits do with windows is tested in runtime/tests; here they paint into memory."""

from __future__ import annotations

import struct
import time

import pytest
from client import Execution, Keeper, Session
from engine_keepers import both_modes

import wire

ENDED = "the event loop was ended after the screenshot"
PYGAME = """
import os
os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_AUDIODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
import pygame
pygame.display.init()
screen = pygame.display.set_mode((300, 200))
print('at it', flush=True)
"""


def end_loop(session: Session, execution: int, painting: bool = False) -> None:
    session.keeper.call(wire.END_LOOP, struct.pack("<QQB", session.id, execution, int(painting)))


def begin(session: Session, code: str, render_ms: int = 500) -> Execution:
    execution = session.begin(f"print('at it', flush=True)\n{code}", render_ms=render_ms)
    said = 2 if PYGAME in code else 1
    session.wait(execution, until=lambda: execution.stdout.count(b"at it\n") == said)
    return execution


def painted(session: Session, execution: Execution) -> None:
    session.wait(execution, until=lambda: bool(execution.bodies(wire.PAINTED)))


@both_modes
def test_the_worker_waits_until_the_picture_is_taken(session: Session) -> None:
    execution = session.begin("6 * 7", render_ms=60_000)
    painted(session, execution)
    assert execution.claim is None and execution.texts == ["42"]

    session.send(wire.CAPTURED, execution.id, b"")
    session.wait(execution)

    assert execution.outcome == "ok"
    assert [m.kind for m in execution.messages] == [wire.RESULT, wire.PAINTED, wire.FINISHED]


def test_it_does_not_wait_longer_than_it_was_told(session: Session) -> None:
    execution = session.begin("1", render_ms=50)

    session.wait(execution)

    assert execution.outcome == "ok" and len(execution.bodies(wire.PAINTED)) == 1


def test_nobody_waits_where_no_picture_is_wanted(session: Session) -> None:
    assert session.run("1").bodies(wire.PAINTED) == []


def test_an_exception_is_told_after_the_picture(session: Session) -> None:
    execution = session.begin("1 / 0", render_ms=60_000)
    painted(session, execution)
    assert execution.error is None

    session.send(wire.CAPTURED, execution.id, b"")
    session.wait(execution)

    assert execution.outcome == "exception" and execution.error is not None


def test_a_captured_that_comes_late_or_early_is_dropped(session: Session) -> None:
    session.send(wire.CAPTURED, 7, b"")
    assert session.run("1", render_ms=20).outcome == "ok"
    session.send(wire.CAPTURED, 1, b"")
    execution = session.begin("2", render_ms=60_000)
    painted(session, execution)
    session.send(wire.CAPTURED, 1, b"")
    time.sleep(0.2)
    assert execution.claim is None

    session.send(wire.CAPTURED, 2, b"")
    session.wait(execution)

    assert execution.outcome == "ok"


def test_a_client_that_goes_on_ends_the_wait(session: Session) -> None:
    first = session.begin("1", render_ms=60_000)
    painted(session, first)

    second = session.begin("6 * 7")
    session.wait(second)  # which gets the end of the first one, too

    assert [m.execution for m in second.messages if m.kind == wire.FINISHED] == [1, 2]
    assert (second.outcome, second.texts) == ("ok", ["42"])


def test_a_new_client_learns_that_a_picture_can_be_taken(keeper: Keeper, session: Session) -> None:
    execution = session.begin("6 * 7", render_ms=60_000)
    painted(session, execution)

    adopted = keeper.attach(session.id)
    again = adopted.resume(until=lambda seen: bool(seen.bodies(wire.PAINTED)))
    assert (again.id, again.texts, again.claim) == (execution.id, ["42"], None)
    adopted.send(wire.CAPTURED, again.id, b"")
    adopted.wait(again)

    assert again.outcome == "ok"


def test_an_interrupt_ends_the_wait(session: Session) -> None:
    execution = session.begin("x = 1", render_ms=60_000)
    painted(session, execution)

    session.interrupt()
    session.wait(execution)

    assert execution.outcome == "ok"
    assert session.run("x").texts == ["1"]


@both_modes
@pytest.mark.parametrize("painting", [False, True])
@pytest.mark.parametrize(
    "loop",
    {
        "wait": "while True:\n    pygame.event.wait()",
        "frames": "while True:\n    pygame.event.get()\n    pygame.display.flip()\n    pygame.time.wait(10)",
        "bare except": "while True:\n    try:\n        pygame.event.get()\n        pygame.time.wait(10)\n"
        "    except:\n        pass",
        "nested": "def f():\n    while True:\n        try:\n            try:\n                pygame.event.wait()\n"
        "            except BaseException:\n                pass\n        except:\n            continue\nf()",
        "ignored signal": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "while True:\n    pygame.event.get()\n    pygame.time.wait(10)",
    }.values(),
    ids=["wait", "frames", "bare except", "nested", "ignored signal"],
)
def test_a_loop_ends(session: Session, loop: str, painting: bool) -> None:
    session.run("x = 'kept'")
    execution = begin(session, PYGAME + loop)
    time.sleep(0.1)

    end_loop(session, execution.id, painting)
    session.wait(execution)

    assert (execution.outcome, execution.exit_code, execution.error) == ("ok", 0, None)
    assert execution.notes == [ENDED] and execution.bodies(wire.PAINTED) == []
    assert session.run("x").texts == ["'kept'"]
    assert session.run("total = 0\nfor i in range(1000):\n    total += i\ntotal").texts == [
        "499500"
    ]


@pytest.mark.parametrize(
    "work",
    [
        "import time\ntime.sleep(1)",
        "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end:\n    pass",
        "import subprocess\nsubprocess.run(['sleep', '1'])",
    ],
    ids=["sleep", "computation", "child"],
)
@pytest.mark.parametrize("painting", [False, True])
def test_work_is_not_cut(session: Session, work: str, painting: bool) -> None:
    execution = begin(session, f"{PYGAME}{work}\n'done'", render_ms=20)

    end_loop(session, execution.id, painting)
    session.wait(execution)

    assert (execution.outcome, execution.texts, execution.notes) == ("ok", ["'done'"], [])


def test_a_loop_nobody_looks_at_goes_on(session: Session) -> None:
    execution = begin(session, PYGAME + "pygame.event.wait(1000)\n'done'", render_ms=0)

    end_loop(session, execution.id)
    session.wait(execution)

    assert (execution.outcome, execution.texts) == ("ok", ["'done'"])


def test_another_executions_loop_is_not_meant(session: Session) -> None:
    for distance in (-1, 1, 2, 1 << 20):
        session.run("1")
        execution = begin(session, PYGAME + "pygame.event.wait(300)\n'done'", render_ms=20)

        end_loop(session, execution.id + distance)
        session.wait(execution)

        assert (execution.outcome, execution.texts, execution.notes) == ("ok", ["'done'"], [])


def test_the_end_of_a_loop_is_no_interruption_and_an_interruption_is_one(session: Session) -> None:
    execution = begin(session, PYGAME + "while True:\n    pygame.event.wait()")
    end_loop(session, execution.id)
    session.interrupt()
    session.wait(execution)
    assert execution.outcome in ("ok", "interrupted")  # whichever was first

    execution = begin(session, PYGAME + "while True:\n    pygame.event.get()")
    session.interrupt()
    session.wait(execution)

    assert execution.outcome == "interrupted"


def test_the_next_execution_is_never_hit(session: Session) -> None:
    session.run(PYGAME)
    for round in range(50):
        loop = session.begin(
            "while True:\n    if pygame.event.wait().type == pygame.QUIT: break", render_ms=500
        )
        time.sleep(0.002 * (round % 5))
        end_loop(session, loop.id)
        end_loop(session, loop.id, painting=True)
        session.wait(loop)
        assert loop.outcome == "ok", round

        after = session.run(
            "seen = []\nfor _ in range(20):\n    seen += [e.type for e in pygame.event.get()]\n"
            "    pygame.time.wait(2)\nseen.count(pygame.QUIT)",
            render_ms=20,
        )
        assert (after.outcome, after.texts, after.notes) == ("ok", ["0"], []), round
