# SPDX-License-Identifier: Apache-2.0
"""Deadlines, for code of every kind: what yields keeps its state, what does not is killed.

All cases of a mode run at the same time, each in a session of its own, so that the grace is waited
for once.
"""

from __future__ import annotations

import functools
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from client import Execution
from engine_keepers import both_modes, shared_keeper

TIME = 0.4  # seconds


@dataclass(frozen=True)
class Case:
    code: str
    yields: bool | None  # None: as the interpreter likes, but the outcome must say which
    stack: bool = True  # whether the stack can be had


# Every case marks its slow line with `# here`; the stack must name that line.
YIELDING = {
    "a sleep": "import time\ntime.sleep(60)  # here",
    "a loop in python": "x = 0\nwhile True: x += 1  # here",
    "a nested call": "def f(n):\n    while True: n += 1  # here\nf(0)",
    "a lock that nobody releases": "import threading\nthreading.Lock().acquire()\nl = "
    "threading.Lock()\nl.acquire()\nl.acquire()  # here",
    "a thread that is joined": "import threading, time\nt = threading.Thread(target=time.sleep, "
    "args=(60,), daemon=True)\nt.start()\nt.join()  # here",
    "a subprocess that is waited for": "import subprocess\nsubprocess.run(['sleep', '60'])  # here",
    "a socket that is read": "import socket\na, b = socket.socketpair()\na.recv(1)  # here",
    "a pipe that is read": "import os\nr, w = os.pipe()\nos.read(r, 1)  # here",
    "a queue": "import queue\nqueue.Queue().get()  # here",
    "a loop that cleans up": "import time\ntry:\n    time.sleep(60)  # here\nfinally:\n    x = 2",
}
DEAF = {
    "a loop in c that holds the lock": "sum(range(10**12))  # here",
    "code that catches the interrupt": "x = 0\nwhile True:\n    try:\n        x = 1\n"
    "        while True: x += 1  # here\n    except KeyboardInterrupt: pass",
    "code that catches everything": "import time\nwhile True:\n    try:\n        time.sleep(60)  # here"
    "\n    except BaseException: pass",
    "an ignored signal": "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "while True: time.sleep(60)  # here",
    "a replaced handler": "import signal, time\nsignal.signal(signal.SIGINT, lambda *_: None)\n"
    "while True: time.sleep(60)  # here",
}
# Suspended code is on no stack.
SUSPENDED = {
    "an await": "import asyncio\nawait asyncio.sleep(60)",
    "tasks": "import asyncio\nawait asyncio.gather(*(asyncio.sleep(60) for _ in range(3)))",
    "a loop of its own": "import asyncio\nasyncio.run(asyncio.sleep(60))",
}
# These stop or block the thread that would tell where it is.
MUTE = {
    "a process that stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "every signal blocked": "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, "
    "range(1, 65))\nwhile True: time.sleep(60)",
    "our own signals taken away": "import signal, time\n"
    "for n in range(34, 65): signal.signal(n, signal.SIG_IGN)\nwhile True: time.sleep(60)",
    "children that stop themselves and are waited for": "import os, signal\npid = os.fork()\n"
    "if pid == 0: os.kill(os.getpid(), signal.SIGSTOP)\nsignal.signal(signal.SIGINT, "
    "signal.SIG_IGN)\nos.waitpid(pid, 0)",
}
EITHER = {
    "a catastrophic regular expression": "import re\nre.match('(a+)+$', 'a' * 60 + 'b')  # here",
    "a huge power": "x = 9 ** 9 ** 9  # here",
    "a huge number as text": "import sys\nsys.set_int_max_str_digits(0)\ns = str(3 ** 6_000_000)  # here",
}
CASES = {
    **{name: Case(code, yields=True) for name, code in YIELDING.items()},
    **{name: Case(code, yields=True, stack=False) for name, code in SUSPENDED.items()},
    **{name: Case(code, yields=False) for name, code in DEAF.items()},
    **{name: Case(code, yields=False, stack=False) for name, code in MUTE.items()},
    **{name: Case(code, yields=None) for name, code in EITHER.items()},
}


def run_case(mode: str, case: Case) -> tuple[Execution, list[str]]:
    """What came of it, and the state that was there afterwards."""
    with shared_keeper(mode).connect() as keeper:
        session = keeper.create()
        session.run("kept = 'kept'")
        execution = session.run(case.code, timeout=TIME)
        after = session.run("kept").texts if execution.state_kept else []
        session.end()
        return execution, after


@functools.cache
def all_runs(mode: str) -> dict[str, tuple[Execution, list[str]]]:
    shared_keeper(mode)  # skips here, in the test's own thread
    with ThreadPoolExecutor(len(CASES)) as pool:
        runs = {name: pool.submit(run_case, mode, case) for name, case in CASES.items()}
        return {name: run.result() for name, run in runs.items()}


@both_modes
@pytest.mark.parametrize("name", CASES)
def test_time_is_up_for(name: str, mode: str) -> None:
    case = CASES[name]
    execution, after = all_runs(mode)[name]

    yielded = execution.death is None

    assert (execution.outcome, execution.timed_out) == ("timeout", True)
    if case.yields is not None:
        assert yielded == case.yields
    if yielded:
        assert (execution.claim, execution.exit_code) == ("interrupted", 130)
        assert execution.error is not None and execution.error["name"] == "KeyboardInterrupt"
        assert after == ["'kept'"]
    else:
        assert execution.death is not None and execution.death[0] == "timeout"
        assert execution.claim is None


@both_modes
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.stack])
def test_the_stack_shows_where_time_was_up_for(name: str, mode: str) -> None:
    lines = CASES[name].code.split("\n")
    here = next(n for n, line in enumerate(lines, 1) if line.endswith("# here"))

    execution, _ = all_runs(mode)[name]

    assert execution.stacks
    assert f'File "<cell 2>", line {here} in' in execution.stacks[0]
    assert "vitrine" not in execution.stacks[0]


@both_modes
def test_the_stack_shows_no_frame_of_ours(mode: str) -> None:
    execution, _ = all_runs(mode)["a nested call"]

    files = re.findall(r'File "([^"]*)"', execution.stacks[0])
    assert set(files) == {"<cell 2>"}
