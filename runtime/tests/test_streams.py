# SPDX-License-Identifier: Apache-2.0
"""stdout, stderr and stdin."""

from __future__ import annotations

import pytest
from sessions import Session


def test_both_streams(session: Session) -> None:
    done = session.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\nsys.stdout.write('c')")

    assert (done.stdout, done.stderr, done.value) == ("a\nc", "b\n", "1")


def test_order_within_a_stream_across_python_c_and_children(session: Session) -> None:
    done = session.run(
        "import os, subprocess, sys\n"
        "print('1')\nos.write(1, b'2\\n')\nsubprocess.run(['echo', '3'])\n"
        "print('4')\n!echo 5\nos.system('echo 6')\nsys.stdout.buffer.write(b'7\\n')\nprint('8')"
    )

    assert done.stdout.split() == list("12345678")


def test_text_without_a_newline_precedes_its_frames(session: Session) -> None:
    done = session.run("print('x', end='')\ndisplay(1)\nprint('y', end='')")

    assert done.stdout == "xy"


@pytest.mark.parametrize("text", ["\\ud800", "é\\udcff", "\\U0001F600"])
def test_any_text_can_be_printed(session: Session, text: str) -> None:
    done = session.run(f"print('{text}')\n'{text}'")

    assert done.outcome == "ok" and done.stdout.endswith("\n")


def test_bytes_reach_the_pipe_unchanged(session: Session) -> None:
    done = session.run("import sys\nn = sys.stdout.buffer.write(b'\\xff\\n')")

    assert done.stdout == "\ufffd\n"


@pytest.mark.parametrize(
    "code",
    [
        "import sys, io; sys.stdout = io.StringIO()",
        "import sys; sys.stdout = None",
        "import sys; del sys.stdout",
        "import sys; sys.stdout.close()",
        "import sys; sys.stdout.detach()",
        "import sys; sys.stdout.buffer.close()",
        "import sys; sys.__stdout__.close()",
        "import sys, io; sys.stdout = io.TextIOWrapper(sys.stdout.buffer); sys.stdout = None",
        "import sys, codecs; sys.stdout = codecs.getwriter('latin-1')(sys.stdout.buffer)",
        "import os; os.close(1)",
        "import os; os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
        "import os; os.close(1); os.open('/dev/null', os.O_RDONLY)",
        "import sys\nclass S:\n    def __getattr__(self, n): raise ValueError(n)\nsys.stdout = S()",
        "import os; [os.close(fd) for fd in (0, 1, 2)]",
        "import sys; sys.stdout.reconfigure(encoding='ascii', errors='strict')",
    ],
)
def test_a_broken_stdout_works_again_in_the_next_execution(session: Session, code: str) -> None:
    session.run("print('before')")
    broken = session.run(code)

    done = session.run("import sys\nprint('after')\nprint('err', file=sys.stderr)")

    assert broken.outcome == "ok", broken
    assert (done.stdout, done.stderr) == ("after\n", "err\n")
    assert "reconfigure" in code or any("restored" in n or "again" in n for n in broken.notes)


def test_a_wrapper_around_stdout_is_flushed(session: Session) -> None:
    done = session.run(
        "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nprint('x')"
    )

    assert done.stdout == "x\n"
    assert session.run("print('y')").stdout == "y\n"


def test_redirect_stdout(session: Session) -> None:
    done = session.run(
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as f:\n    print('x')\n"
        "f.getvalue()"
    )

    assert (done.stdout, done.value, done.notes) == ("", "'x\\n'", [])


def test_a_pipe_without_reader_does_not_wedge(session: Session) -> None:
    session.run(
        "import os\nr, w = os.pipe()\nos.dup2(w, 1)\nos.close(r)\nos.close(w)\n"
        "try:\n    print('lost')\nexcept OSError:\n    pass"
    )

    assert session.run("print('here')\n1").value == "1"
    assert session.run("print('here')").stdout == "here\n"


def test_much_output_arrives_whole(session: Session) -> None:
    done = session.run("for i in range(20000): print(i)")

    assert done.stdout == "".join(f"{i}\n" for i in range(20000))


def test_a_non_blocking_stdout(session: Session) -> None:
    session.run("import os\nos.set_blocking(1, False)")
    session.run(
        "import sys\ntry:\n    sys.stdout.write('x' * 1_000_000)\nexcept BlockingIOError:\n    pass"
    )

    assert session.run("1").value == "1"


# ------------------------------------------------------------------------------------- stdin


def test_given_stdin(session: Session) -> None:
    done = session.run("a = input('name? ')\nb = input()\n(a, b)", stdin=b"Ada\nLovelace\n")

    assert (done.stdout, done.value) == ("name? ", "('Ada', 'Lovelace')")


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("import sys\nsys.stdin.read()", "'1\\n2\\n'"),
        ("import sys\n[line for line in sys.stdin]", "['1\\n', '2\\n']"),
        ("import sys\nsys.stdin.buffer.read()", "b'1\\n2\\n'"),
        ("import fileinput\nlist(fileinput.input())", "['1\\n', '2\\n']"),
        ("open(0).read()", "'1\\n2\\n'"),
        ("import os\nos.read(0, 100)", "b'1\\n2\\n'"),
        ("import subprocess\nsubprocess.check_output('cat')", "b'1\\n2\\n'"),
        ("x = !cat\nx", "['1', '2']"),
        ("import getpass\ngetpass.getpass()", "'1'"),
        ("open('/dev/stdin').read()", "'1\\n2\\n'"),
    ],
)
def test_every_way_to_read_stdin(session: Session, code: str, value: str) -> None:
    assert session.run(code, stdin=b"1\n2\n").value == value


def test_the_end_of_stdin(session: Session) -> None:
    done = session.run("input()\ninput()", stdin=b"only one")

    assert done.error is not None and done.error[0] == "EOFError"
    assert "used up" in done.error[1]


def test_no_stdin(session: Session) -> None:
    done = session.run("print('x', end='')\ninput('name? ')")

    assert done.error is not None
    assert done.error[0] == "EOFError" and "pass stdin" in done.error[1]
    assert session.run("import sys\nsys.stdin.read()").value == "''"


def test_stdin_belongs_to_one_execution(session: Session) -> None:
    session.run("first = input()", stdin=b"1\n2\n")

    done = session.run("input()")

    assert done.error is not None and "pass stdin" in done.error[1]
    assert session.run("import os\nos.read(0, 10)").value == "b''"


def test_stdin_that_is_not_utf8(session: Session) -> None:
    assert session.run("input()", stdin=b"\xff\n").outcome == "ok"


def test_an_empty_stdin(session: Session) -> None:
    assert session.run("import sys\nsys.stdin.read()", stdin=b"").value == "''"


def test_a_big_stdin(session: Session) -> None:
    done = session.run("import sys\nlen(sys.stdin.read())", stdin=b"x" * 3_000_000)

    assert done.value == "3000000"


def test_interactive_input(session: Session) -> None:
    session.start(
        "a = input('name? ')\nimport getpass\nb = getpass.getpass('secret: ')\n(a, b)",
        interactive=True,
    )
    done = session.wait(answers=["Ada", "xyz"])

    assert done.value == "('Ada', 'xyz')"
    assert done.asked == [("name? ", False), ("secret: ", True)]
    assert done.stdout == ""


def test_interactive_end_of_input(session: Session) -> None:
    session.start("input()", interactive=True)
    done = session.wait(answers=[None])

    assert done.error is not None and done.error[0] == "EOFError"


def test_interactive_sys_stdin(session: Session) -> None:
    session.start("import sys\n(sys.stdin.readline(), sys.stdin.read())", interactive=True)
    done = session.wait(answers=["a", "b", "c", None])

    assert done.value == "('a\\n', 'b\\nc\\n')"


def test_interactive_debugger(session: Session) -> None:
    session.start("x = 41\nbreakpoint()\nx", interactive=True)
    done = session.wait(answers=["p x + 1", "c"])

    assert "42" in done.stdout and done.value == "41"


def test_the_debugger_reads_given_stdin(session: Session) -> None:
    done = session.run("x = 41\nbreakpoint()\nx", stdin=b"p x + 1\nc\n")

    assert "42" in done.stdout and done.value == "41"


def test_breakpoint_without_anyone_to_answer(session: Session) -> None:
    done = session.run("breakpoint()")

    assert done.error is not None and done.error[0] == "RuntimeError"
    assert "needs someone" in done.error[1]
    assert session.run("import pdb\npdb.set_trace()\n1").outcome == "exception"
    assert session.run("1").value == "1"


@pytest.mark.parametrize(
    "code",
    [
        "import os; os.close(0)",
        "import sys; sys.stdin.close()",
        "import sys; sys.stdin = None",
        "import sys; del sys.stdin",
        "import os; os.dup2(os.open('/etc/passwd', os.O_RDONLY), 0)",
        "import sys; sys.stdin.detach()",
    ],
)
def test_a_broken_stdin_works_again(session: Session, code: str) -> None:
    session.run(code)

    assert session.run("import os, sys\n(sys.stdin.read(), os.read(0, 9))").value == "('', b'')"
    assert session.run("input()", stdin=b"x\n").value == "'x'"


def test_stdin_replaced_by_user_code_is_used_by_input(session: Session) -> None:
    assert (
        session.run("import io, sys\nsys.stdin = io.StringIO('mine\\n')\ninput()").value == "'mine'"
    )


def test_only_the_main_thread_may_ask(session: Session) -> None:
    session.start(
        "import threading\nout = []\ndef f():\n    try: input('?')\n    except EOFError as e: out.append(str(e))\n"
        "t = threading.Thread(target=f)\nt.start()\nt.join()\nout",
        interactive=True,
    )
    done = session.wait(answers=[])

    assert done.asked == [] and "main thread" in (done.value or "")
