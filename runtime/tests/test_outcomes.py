# SPDX-License-Identifier: Apache-2.0
"""Errors, exit codes and tracebacks."""

from __future__ import annotations

import pytest
from sessions import Session, python_version


def test_an_exception(session: Session) -> None:
    session.run("def f(x):\n    return 1 / x")

    done = session.run("print('before')\nf(0)")

    assert (done.outcome, done.exit_code) == ("exception", 1)
    assert done.stdout == "before\n"
    assert done.stderr == ""
    assert done.error is not None
    assert done.error[:2] == ("ZeroDivisionError", "division by zero")
    lines = [line for line in done.traceback.splitlines() if "^" not in line]
    assert lines == [
        "Traceback (most recent call last):",
        '  File "<cell 2>", line 2, in <module>',
        "    f(0)",
        '  File "<cell 1>", line 2, in f',
        "    return 1 / x",
        "ZeroDivisionError: division by zero",
    ]


def test_frames_of_libraries_are_shown_and_ours_are_not(session: Session) -> None:
    done = session.run("import json\njson.loads('{')")

    assert "json/decoder.py" in done.traceback
    assert "vitrine_runtime" not in done.traceback


@pytest.mark.parametrize(
    "code",
    [
        "display(type('B', (), {'_repr_mimebundle_': lambda self, **k: exit(3)})())",
        "input()",
        "import asyncio\nawait asyncio.sleep(0)\n1 / 0",
        "%time 1 / 0",
        "%%time\n1 / 0",
        "import asyncio\nasync def f():\n    raise KeyError('x')\nawait asyncio.gather(f(), f())",
        "breakpoint()",
        "from IPython.display import nothing",
        "%pip install nothing-of-this-name",
        "import getpass\ngetpass.getpass()",
    ],
)
def test_no_frame_of_the_runtime_anywhere(session: Session, code: str) -> None:
    session.start(code)
    done = session.wait(answers=[None])

    assert done.error is None or "vitrine_runtime" not in done.traceback, done.traceback


def test_a_syntax_error_points_at_its_place(session: Session) -> None:
    done = session.run("x = 1\ny = = 2\n")

    assert done.error is not None
    assert done.error[0] == "SyntaxError"
    assert done.traceback == (
        '  File "<cell 1>", line 2\n    y = = 2\n        ^\nSyntaxError: invalid syntax\n'
    )


def test_indentation_and_tab_errors(session: Session) -> None:
    done = session.run("if True:\nprint(1)")

    assert done.error is not None and done.error[0] == "IndentationError"


def test_chained_exceptions(session: Session) -> None:
    done = session.run(
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('v') from e"
    )
    assert "The above exception was the direct cause" in done.traceback
    done = session.run("try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('v')")
    assert "During handling of the above exception" in done.traceback
    done = session.run(
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('v') from None"
    )
    assert "ZeroDivisionError" not in done.traceback


def test_a_magic_does_not_become_the_context_of_an_error(session: Session) -> None:
    done = session.run("!true\n1 / 0")

    assert "During handling" not in done.traceback


@pytest.mark.skipif(python_version() < (3, 11), reason="new in Python 3.11")
def test_exception_groups_and_notes(session: Session) -> None:
    done = session.run(
        "e = ExceptionGroup('several', [ValueError('one'), TypeError('two')])\n"
        "e.add_note('a note')\nraise e"
    )

    assert "| ExceptionGroup: several (2 sub-exceptions)" in done.traceback
    assert "| a note" in done.traceback
    assert "| TypeError: two" in done.traceback


def test_a_newer_grammar_is_named_with_this_python(session: Session) -> None:
    if python_version() < (3, 12):
        done = session.run("def first[T](items: list[T]) -> T:\n    return items[0]")
        assert done.traceback.endswith("needs Python 3.12.\n")
        done = session.run("d = {'a': 1}\nprint(f'{d['a']}')")
        assert "This is Python 3.11; " in done.traceback
    if python_version() < (3, 14):
        done = session.run("try:\n    pass\nexcept ValueError, TypeError:\n    pass")
        assert "needs Python 3.14." in done.traceback
    done = session.run("def f(:\n    pass")
    assert "This is Python" not in done.traceback


def test_hints_of_the_interpreter(session: Session) -> None:
    done = session.run("number = 1\nnumbr")
    assert done.traceback.endswith(
        "NameError: name 'numbr' is not defined. Did you mean: 'number'?\n"
    )

    done = session.run("[].appendd")
    assert "Did you mean: 'append'?" in done.traceback
    done = session.run("try:\n    undefined_a\nexcept NameError:\n    numbr")
    assert done.traceback.rstrip().endswith("Did you mean: 'number'?")
    assert done.traceback.count("During handling") == 1


def test_recursion_is_folded(session: Session) -> None:
    done = session.run("def f(n):\n    return f(n + 1)\nf(0)")

    assert done.error is not None and done.error[0] == "RecursionError"
    assert "Previous line repeated" in done.traceback
    assert session.run("1").value == "1"


def test_a_long_traceback_keeps_its_head_and_tail(session: Session) -> None:
    code = "import sys\nsys.setrecursionlimit(20000)\n" + "\n".join(
        f"def f{i}(n):\n    return 1 / 0 if n == 0 else f{(i + 1) % 5}(n - 1)" for i in range(5)
    )
    session.run(code)

    done = session.run("f0(9000)")

    lines = done.traceback.splitlines()
    assert len(lines) < 400 and "left out" in done.traceback
    assert lines[1] == '  File "<cell 2>", line 1, in <module>'
    assert lines[-1] == "ZeroDivisionError: division by zero"


def test_a_huge_message_is_bounded(session: Session) -> None:
    done = session.run("raise ValueError('x' * 10_000_000)")

    assert done.error is not None
    assert len(done.error[1]) < 20_000 and len(done.error[2]) < 200_000
    assert "left out" in done.error[1]


@pytest.mark.parametrize(
    "body",
    [
        "def __str__(self): raise ValueError('no')",
        "def __str__(self): return 5",
        "def __str__(self): return str(self)",
        "def __str__(self): raise SystemExit(3)",
        "def __repr__(self): 1 / 0",
        "__traceback__ = None",
        "exceptions = 5",
        "__notes__ = 7",
        "__cause__ = property(lambda self: 1 / 0)",
        "def __getattribute__(self, name): raise RuntimeError(name)",
    ],
)
def test_hostile_exceptions(session: Session, body: str) -> None:
    done = session.run(f"class E(Exception):\n    {body}\nraise E('x')")

    assert (done.outcome, done.exit_code) == ("exception", 1)
    assert done.error is not None and done.error[0] == "E"
    assert session.run("1").value == "1"


def test_a_cycle_of_causes(session: Session) -> None:
    done = session.run(
        "a, b = ValueError('a'), ValueError('b')\na.__cause__ = b\nb.__cause__ = a\nraise a"
    )

    assert done.error is not None and done.error[:2] == ("ValueError", "a")


@pytest.mark.parametrize(
    ("code", "outcome", "exit_code"),
    [
        ("import sys; sys.exit()", "ok", 0),
        ("import sys; sys.exit(0)", "ok", 0),
        ("import sys; sys.exit(False)", "ok", 0),
        ("import sys; sys.exit(3)", "exception", 3),
        ("import sys; sys.exit(-1)", "exception", 255),
        ("import sys; sys.exit(256)", "exception", 1),
        ("import sys; sys.exit(True)", "exception", 1),
        ("raise SystemExit", "ok", 0),
        ("raise KeyboardInterrupt", "exception", 1),
        ("raise GeneratorExit", "exception", 1),
        ("raise BaseException('b')", "exception", 1),
        ("raise MemoryError", "exception", 1),
    ],
)
def test_ways_to_end(session: Session, code: str, outcome: str, exit_code: int) -> None:
    session.run("kept = 1")

    done = session.run(code)

    assert (done.outcome, done.exit_code) == (outcome, exit_code)
    assert (done.error is None) == (outcome == "ok")
    assert session.run("kept").value == "1"


def test_the_words_of_sys_exit_go_to_stderr(session: Session) -> None:
    done = session.run("import sys\nsys.exit('good bye')")

    assert (done.exit_code, done.stderr) == (1, "good bye\n")
    assert done.error is not None and done.error[:2] == ("SystemExit", "good bye")


def test_notes_say_what_to_do(session: Session) -> None:
    assert "memory_mb" in session.run("raise MemoryError").notes[0]
    assert "'polars' is not installed" in session.run("import polars").notes[0]
    done = session.run("import asyncio\nawait asyncio.sleep(0)\nasyncio.run(asyncio.sleep(0))")
    assert "await main()" in done.notes[0]


def test_a_real_memory_error_leaves_the_session_alive(session: Session) -> None:
    done = session.run("x = bytearray(1 << 60)")

    assert done.error is not None and done.error[0] == "MemoryError"
    assert session.run("1").value == "1"


def test_the_source_is_found_after_linecache_was_cleared(session: Session) -> None:
    session.run("def f():\n    raise ValueError('x')")
    session.run("import linecache\nlinecache.clearcache()\nlinecache.checkcache()")

    assert "    raise ValueError('x')" in session.run("f()").traceback


def test_an_exception_of_a_user_module_shows_its_source(session: Session) -> None:
    session.run("import os, tempfile\nos.chdir(tempfile.mkdtemp())")
    session.run("%%writefile mine.py\ndef f():\n    raise ValueError('x')\n")

    done = session.run("import mine\nmine.f()")

    assert "mine.py\", line 2, in f\n    raise ValueError('x')\n" in done.traceback
