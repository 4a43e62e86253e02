# SPDX-License-Identifier: Apache-2.0
"""Values, state and the namespace."""

from __future__ import annotations

import pytest
from sessions import Session


def test_the_value_of_the_last_expression_is_the_result(session: Session) -> None:
    done = session.run("x = 20\nx + 22")

    assert (done.outcome, done.exit_code, done.value) == ("ok", 0, "42")
    assert done.order == ["result", "finished"]
    assert done.error is None


@pytest.mark.parametrize(
    "code", ["", "# only a comment", "x = 1", "None", "1;", "1 ; # no", "(1\n) ;", "for i in []: i"]
)
def test_no_result(session: Session, code: str) -> None:
    done = session.run(code)

    assert (done.outcome, done.results) == ("ok", [])


@pytest.mark.parametrize("code", ["1; 2", "2 # ; not", "';'; 2", "(\n2)", "x = 1; 2", "2\n\n# end"])
def test_a_result_beside_semicolons_and_comments(session: Session, code: str) -> None:
    assert session.run(code).value == "2"


def test_state_persists(session: Session) -> None:
    session.run("def f(x):\n    return x * k\nk = 3")

    assert session.run("f(4)").value == "12"
    session.run("k = 5")
    assert session.run("f(4)").value == "20"


def test_main_is_a_real_module(session: Session) -> None:
    done = session.run(
        "import sys, __main__\n"
        "x = 7\n"
        "hit = False\n"
        "if __name__ == '__main__':\n    hit = True\n"
        "(hit, __main__.x, sys.modules['__main__'].__dict__ is globals(), __builtins__.__name__)"
    )

    assert done.value == "(True, 7, True, 'builtins')"


def test_pickle_of_classes_and_functions_of_cells(session: Session) -> None:
    session.run("class A:\n    def __init__(self, x): self.x = x\ndef f(): return 5")

    done = session.run(
        "import pickle\n[pickle.loads(pickle.dumps(A(3))).x, pickle.loads(pickle.dumps(f))()]"
    )

    assert done.value == "[3, 5]"


def test_dataclasses_and_type_hints(session: Session) -> None:
    session.run("from __future__ import annotations\nfrom dataclasses import dataclass, field")
    session.run(
        "@dataclass(order=True)\nclass P:\n    x: int\n    y: list[int] = field(default_factory=list)"
    )

    assert session.run("P(1, [2])").value == "P(x=1, y=[2])"
    done = session.run("import typing\ntyping.get_type_hints(P)")
    assert done.value == "{'x': <class 'int'>, 'y': list[int]}"


def test_future_statements_hold_for_later_cells(session: Session) -> None:
    session.run("from __future__ import annotations")

    assert session.run("def f(x: Undefined): pass\nf.__annotations__").value == "{'x': 'Undefined'}"


def test_annotations_of_the_runtime_do_not_leak_into_cells(session: Session) -> None:
    done = session.run("def f(x: Undefined): pass\nf.__annotations__")

    assert done.error is not None and done.error[0] == "NameError"


def test_getsource_of_functions_classes_and_lambdas(session: Session) -> None:
    source = "class A:\n    x = 1\n\n    def m(self):\n        return 2\n"
    session.run("# first\ndef f(a):\n    # inside\n    return a\n")
    session.run(source)
    session.run("@staticmethod\ndef unused(): pass\nclass Empty:\n    pass\n")

    done = session.run("import inspect\nprint(inspect.getsource(f))\nprint(inspect.getsource(A))")
    assert done.stdout == "def f(a):\n    # inside\n    return a\n\n" + source + "\n"
    done = session.run("print(inspect.getsource(A.m), inspect.getsource(Empty), sep='|')")
    assert done.stdout == "    def m(self):\n        return 2\n|class Empty:\n    pass\n\n"


def test_doctest_of_the_session(session: Session) -> None:
    session.run("def double(x):\n    '''\n    >>> double(2)\n    4\n    '''\n    return 2 * x")

    assert session.run("import doctest\ndoctest.testmod()").value == (
        "TestResults(failed=0, attempted=1)"
    )


def test_the_last_values_are_kept_like_in_a_notebook(session: Session) -> None:
    for code in ("1", "2", "3"):
        session.run(code)

    assert session.run("(_, __, ___)").value == "(3, 2, 1)"


def test_an_underscore_of_the_user_is_left_alone(session: Session) -> None:
    session.run("1")
    session.run("_ = 'mine'")
    session.run("2")

    assert session.run("_").value == "'mine'"
    session.run("del _")
    session.run("3")
    assert session.run("_").value == "3"


def test_a_loop_variable_named_underscore_counts_as_the_users(session: Session) -> None:
    session.run("for _ in range(3): pass")
    session.run("99")

    assert session.run("_").value == "2"


def test_cells_are_numbered_in_warnings_and_tracebacks(session: Session) -> None:
    session.run("1")

    done = session.run("import warnings\nwarnings.warn('careful')")

    assert done.stderr == "<cell 2>:2: UserWarning: careful\n  warnings.warn('careful')\n"


def test_the_same_warning_shows_in_every_cell(session: Session) -> None:
    code = "import warnings\nwarnings.warn('careful')"

    assert all("careful" in session.run(code).stderr for _ in range(2))


def test_syntax_warnings_go_to_stderr(session: Session) -> None:
    done = session.run("x = 1\nx is 1")

    assert "SyntaxWarning" in done.stderr and done.value == "True"


def test_a_module_written_by_a_cell_can_be_imported(session: Session) -> None:
    session.run("import os, tempfile\nos.chdir(tempfile.mkdtemp())")
    session.run("open('written.py', 'w').write('y = 11')")

    assert session.run("import written\nwritten.y").value == "11"


def test_deeply_nested_source_is_an_error_and_no_crash(session: Session) -> None:
    done = session.run("(" * 500 + ")" * 500)

    assert done.outcome == "exception"
    assert session.run("1").value == "1"


@pytest.mark.parametrize("code", ["x = '\ud800'", "a = '\0'", "\ufeffx = 1", "x = 1\r\ny = 2\r\ny"])
def test_odd_source_text(session: Session, code: str) -> None:
    session.run(code)

    assert session.run("1").value == "1"


def test_a_cell_of_a_megabyte(session: Session) -> None:
    done = session.run("x = '" + "a" * 1_000_000 + "'\nlen(x)")

    assert done.value == "1000000"


def test_the_sources_kept_are_bounded(session: Session) -> None:
    for _ in range(6):
        session.run("x = '" + "a" * 1_000_000 + "'")

    done = session.run("import linecache\nsum(n.startswith('<cell') for n in linecache.cache)")
    assert done.value is not None and int(done.value) <= 6


def test_exit_and_quit_end_the_execution_only(session: Session) -> None:
    assert session.run("x = 1\nexit()\nx = 2").outcome == "ok"
    assert session.run("x").value == "1"
    done = session.run("quit(4)")
    assert (done.outcome, done.exit_code) == ("exception", 4)


def test_help_prints(session: Session) -> None:
    assert "Return the number of items" in session.run("help(len)").stdout


def test_there_is_no_ipython_shell(session: Session) -> None:
    done = session.run("get_ipython()")

    assert done.error is not None and done.error[0] == "NameError"


def test_the_helpers_of_every_policy(session: Session) -> None:
    done = session.run("try:\n    1 / 0\nexcept ZeroDivisionError:\n    print(format_exc())")
    assert done.stdout.startswith('Traceback (most recent call last):\n  File "<cell 1>", line 2')
    assert done.stdout.rstrip().endswith("ZeroDivisionError: division by zero")

    done = session.run(
        "loop = []\nloop.append(loop)\n"
        "class Bad:\n    def __repr__(self): raise ValueError('no')\n"
        "import datetime\n"
        "for item in ({'a': 1}, {1, 2}, {(1, 2): 3}, loop, Bad(), float('nan'), 'é'):\n"
        "    print(safe_json_dumps(item))"
    )
    assert done.outcome == "ok", done
    assert done.stdout.splitlines()[:3] == ['{"a": 1}', '"{1, 2}"', '{"(1, 2)": 3}']
    assert session.run("safe_json_dumps({'b': 1, 'a': 2}, sort_keys=True, indent=1)").value == (
        '\'{\\n "a": 2,\\n "b": 1\\n}\''
    )
