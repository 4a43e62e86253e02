# SPDX-License-Identifier: Apache-2.0
"""The line that runs is told while pictures are taken on the way, and at no other time."""

from __future__ import annotations

import time

from sessions import Done, Session


def usual(done: Done) -> int:
    """The one that was told most often."""
    return max(set(done.lines), key=done.lines.count)


def test_the_line_of_the_cell_is_told(session: Session) -> None:
    done = session.run("import time\n\nx = 1\ntime.sleep(.3)\n", line_ms=5)

    assert usual(done) == 4 and done.lines.count(4) >= 5
    assert set(done.lines) <= {0, 1, 3, 4}


def test_the_innermost_line_of_this_very_cell(session: Session) -> None:
    session.run("import time\n\n\n\n\ndef older():\n    time.sleep(.3)")

    done = session.run("def f():\n    g()\ndef g():\n    older()\nf()", line_ms=5)

    assert usual(done) == 4


def test_code_that_never_leaves_the_interpreter_is_seen_too(session: Session) -> None:
    done = session.run("n = 0\nwhile n < 3_000_000:\n    n += 1", line_ms=5)

    assert {2, 3} & set(done.lines)


def test_a_deep_recursion_and_threads_do_no_harm(session: Session) -> None:
    code = (
        "import sys, threading, time\nsys.setrecursionlimit(5000)\n"
        "def f(n):\n    if n: f(n - 1)\n    else: time.sleep(.2)\n"
        "t = threading.Thread(target=time.sleep, args=(.1,)); t.start()\nf(3000)\nt.join()"
    )

    done = session.run(code, line_ms=5)

    assert done.outcome == "ok" and 5 in done.lines


def test_nothing_is_told_unasked_or_after_the_end(session: Session) -> None:
    assert session.run("import time; time.sleep(.05)").lines == []
    assert session.run("1/0", line_ms=1).outcome == "exception"
    for _ in range(50):  # the reader refuses a line that comes after the end
        assert session.run("1", line_ms=1).outcome == "ok"
    assert session.run("import threading; threading.active_count()", line_ms=1).value == "1"


def test_an_interrupt_ends_it_as_ever(session: Session) -> None:
    session.start("import time\ntime.sleep(60)", line_ms=5)
    time.sleep(0.3)
    session.interrupt()

    done = session.wait()

    assert done.error is not None and done.error[0] == "KeyboardInterrupt"
    assert session.run("1 + 1").value == "2"
