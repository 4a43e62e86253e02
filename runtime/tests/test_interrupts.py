# SPDX-License-Identifier: Apache-2.0
"""Interrupts at any time: nothing lost, nothing doubled, exactly one end per execution."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from conftest import MakeSession
from sessions import Session


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\ntime.sleep(60)",
        "import threading\nthreading.Event().wait()",
        "sum(range(10**12)) if False else [x for x in iter(int, 1)]",
        "import subprocess\nsubprocess.run(['sleep', '60'])",
        "!sleep 60",
        "x = !sleep 60; echo hi",
        "%%bash\nsleep 60",
        "import asyncio\nasyncio.run(asyncio.sleep(60))",
        "import asyncio\nawait asyncio.sleep(60)",
        "class R:\n    def __repr__(self):\n        while True: pass\nR()",
        "class R:\n    def _repr_html_(self):\n        while True: pass\nR()",
        "class R:\n    def __str__(self):\n        while True: pass\nraise SystemExit(R())",
        "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
        "class D:\n    def __del__(self):\n        while True: pass\nd = D()\ndel d",
        "import sys\nclass S:\n    def flush(self):\n        while True: pass\nsys.stdout = S()",
    ],
)
def test_an_interrupt_ends_whatever_runs(session: Session, code: str) -> None:
    session.run("kept = 5")
    session.start(code)
    time.sleep(0.3)
    session.interrupt()

    done = session.wait(patience=10)

    if "__del__" in code:  # Python swallows what a finalizer raises
        assert done.outcome == "ok" and "KeyboardInterrupt" in done.stderr
    else:
        assert (done.outcome, done.exit_code) == ("interrupted", 130)
        assert done.error is not None and done.error[0] == "KeyboardInterrupt"
        assert "vitrine_runtime" not in done.traceback
    assert session.run("kept").value == "5"


def test_the_traceback_says_where(session: Session) -> None:
    session.start("def spin():\n    while True:\n        pass\nspin()")
    time.sleep(0.2)
    session.interrupt()

    done = session.wait()

    assert '  File "<cell 1>", line 4, in <module>\n    spin()\n' in done.traceback
    assert done.traceback.endswith("\nKeyboardInterrupt\n")


def test_user_code_may_catch_it(session: Session) -> None:
    session.start(
        "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    x = 'caught'\nx"
    )
    time.sleep(0.2)
    session.interrupt()

    done = session.wait()

    assert (done.outcome, done.value) == ("ok", "'caught'")


def test_an_idle_session_is_not_disturbed(session: Session) -> None:
    for _ in range(20):
        session.interrupt()

    assert session.run("1").value == "1"


def test_a_users_handler_ends_with_its_cell(session: Session) -> None:
    session.run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)")
    session.start("while True: pass")
    time.sleep(0.2)
    session.interrupt()

    assert session.wait().outcome == "interrupted"


def test_the_children_of_a_shell_command_die_with_it(session: Session) -> None:
    session.start("!sh -c 'trap \"\" INT; sleep 61' & sleep 61")
    time.sleep(0.5)
    session.interrupt()

    assert session.wait(patience=10).outcome == "interrupted"
    done = session.run("left = !pgrep -f 'sleep 6[1]'\nleft")
    assert done.value == "[]"


def test_an_interrupt_while_waiting_for_input(session: Session) -> None:
    session.start("input('? ')", interactive=True)
    time.sleep(0.3)
    session.interrupt()

    done = session.wait()
    assert (done.outcome, done.asked) == ("interrupted", [("? ", False)])
    assert session.run("1").value == "1"


CELLS = (
    "x = 1 + 1\nx",
    "print('out')\n[i for i in range(50)]",
    "1 / 0",
    "display('d')\nimport sys\nsys.stderr.write('e')",
    "def f(n):\n    return f(n - 1) if n else 0\nf(50)",
    "import sys\nsys.exit(3)",
    "1 +",
)
ALLOWED = {
    "1 / 0": {"exception", "interrupted"},
    "import sys\nsys.exit(3)": {"exception", "interrupted"},
    "1 +": {"exception", "interrupted"},
}


SHOOTER = """
import os, random, signal, sys, time
pid, seed = int(sys.argv[1]), int(sys.argv[2])
chance = random.Random(seed)
while True:
    until = time.perf_counter() + chance.uniform(0, 0.0008)
    while time.perf_counter() < until:
        pass
    os.kill(pid, signal.SIGINT)
"""


def storm(session: Session, iterations: int, seed: int) -> dict[str, int]:
    """Another process interrupts at random instants, about every 0.4 ms."""
    counts: dict[str, int] = {}
    shooter = subprocess.Popen(
        [sys.executable, "-c", SHOOTER, str(session.pid), str(seed)], stderr=subprocess.DEVNULL
    )
    try:
        for i in range(iterations):
            code = CELLS[i % len(CELLS)]
            done = session.run(code)
            assert done.order.count("finished") == 1 and done.order[-1] == "finished"
            assert done.outcome in ALLOWED.get(code, {"ok", "interrupted"}), (code, done)
            assert (done.error is None) == (done.outcome == "ok"), done
            counts[done.outcome] = counts.get(done.outcome, 0) + 1
    finally:
        shooter.kill()
        shooter.wait()
    return counts


def test_a_storm_of_interrupts(make: MakeSession) -> None:
    session = make()
    session.run("1")
    counts = storm(session, 3000, seed=1)

    assert counts.get("interrupted", 0) > 3, counts
    for _ in range(3):
        assert session.run("'calm'").value == "'calm'"


@pytest.mark.long
def test_a_long_storm(make: MakeSession) -> None:
    for seed in range(10):
        session = make()
        storm(session, 20_000, seed)
        assert session.run("'calm'").value == "'calm'"
