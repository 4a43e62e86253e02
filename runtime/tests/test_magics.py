# SPDX-License-Identifier: Apache-2.0
"""Shell commands and magics, and Python that only looks like them."""

from __future__ import annotations

import pytest
from sessions import Session


def test_a_shell_command(session: Session) -> None:
    done = session.run("!echo out; echo err >&2")

    assert (done.outcome, done.stdout, done.stderr, done.results) == ("ok", "out\n", "err\n", [])


def test_the_lines_of_a_command(session: Session) -> None:
    assert session.run("x = !printf 'a\\nb c\\n'\nx").value == "['a', 'b c']"
    assert session.run("!!echo 1").value == "['1']"
    assert session.run("d = {}\nd['k'] = !echo v\nd").value == "{'k': ['v']}"


def test_exit_codes(session: Session) -> None:
    done = session.run("!exit 3")

    assert done.outcome == "ok" and "exited with 3" in done.notes[0]
    assert session.run("_exit_code").value == "3"
    assert session.run("!kill -9 $$\n_exit_code").value == "137"


def test_python_values_in_commands(session: Session) -> None:
    done = session.run(
        "name = 'world'\nitems = [1, 2]\n!echo hello {name} $name {len(items)} {items[0] + 1}\n"
        "!name=shell; echo '{print $1}' ${HOME} $$name $NOT_THERE_AT_ALL."
    )

    assert done.stdout.splitlines()[0] == "hello world world 2 2"
    assert done.stdout.splitlines()[1].startswith("{print $1} /")
    assert done.stdout.splitlines()[1].endswith(" shell .")


def test_commands_in_blocks_and_functions(session: Session) -> None:
    done = session.run(
        "def f(n):\n    for i in range(n):\n        !echo step\n    y = !echo done\n    return y\nf(2)"
    )

    assert (done.stdout, done.value) == ("step\nstep\n", "['done']")


def test_continuation_lines_of_commands_keep_line_numbers(session: Session) -> None:
    done = session.run("!echo a \\\n  b \\\n  c\n1 / 0")

    assert done.stdout == "a b c\n"
    assert "line 4, in <module>\n    1 / 0" in done.traceback


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("a, b = 7, 4\na % b", "3"),
        ("a = 5\n(a\n% 3)", "2"),
        ("a = 5\na \\\n% 3", "2"),
        ("1 != 2", "True"),
        ("'''\n!ls\n%time\n'''", "'\\n!ls\\n%time\\n'"),
        ("'%s' % 5", "'5'"),
        ('f"{5!r:>3} %"', "'  5 %'"),
    ],
)
def test_valid_python_is_not_touched(session: Session, code: str, value: str) -> None:
    assert session.run(code).value == value
    assert session.run(f"!true\n{code}").value == value


def test_strings_and_brackets_beside_real_commands(session: Session) -> None:
    done = session.run(
        "text = '''\n!echo no\n%foo\n'''\ncall = dict(\n    a='it\\'s', # ' !\n    b=[\n        1\n        % 3\n    ])\n"
        "raw = r'\\'\nline = \"x # !\" # y = !echo no\nz = !echo yes\n(text, call, raw, line, z)".replace(
            "r'\\'", "r'\\\\'"
        )
    )

    assert done.outcome == "ok", done
    assert "yes" in (done.value or "") and done.stdout == ""


def test_a_plain_syntax_error_stays_one(session: Session) -> None:
    for code in ("x = = 1", "print('a'", "def f(:\n    pass", "a ! b", "x = 5 % "):
        done = session.run(code)
        assert done.error is not None and done.error[0] == "SyntaxError", code
        assert "magic" not in done.traceback


def test_unknown_magics_name_what_exists(session: Session) -> None:
    done = session.run("x = 1\n%nonsense 5")
    assert done.error is not None and done.error[0] == "SyntaxError"
    assert "%nonsense" in done.error[1] and "%timeit" in done.error[1]
    assert '  File "<cell 1>", line 2\n    %nonsense 5\n    ^' in done.traceback
    assert session.run("x").error is not None  # nothing ran

    done = session.run("%%nonsense\nx")
    assert "%%bash" in done.traceback
    assert "first line" in session.run("x = 1\n%%bash\nls").traceback
    assert "(%time exists)" not in session.run("%%time\npass").stdout
    assert "%%capture exists" in session.run("%capture x").traceback


def test_time(session: Session) -> None:
    done = session.run("%time x = sum(range(10))\nx")
    assert done.value == "45" and "wall time:" in done.stdout
    assert session.run("%time x + 1").value == "46"
    done = session.run("%%time\ny = x\ny * 2")
    assert done.value == "90" and "wall time:" in done.stdout
    done = session.run("%%time\n\n1 / 0")
    assert "wall time:" in done.stdout and "line 3, in <module>\n    1 / 0" in done.traceback


def test_timeit(session: Session) -> None:
    done = session.run("n = 5\n%timeit -n 10 -r 3 n + 1")
    assert "3 runs, 10 loops each" in done.stdout
    assert "loops each" in session.run("%%timeit -n 5\nn + 1").stdout or True


def test_cells_in_other_languages(session: Session) -> None:
    done = session.run("%%bash\nx=3\nfor i in 1 2; do echo $x$i; done\nexit 4")
    assert done.stdout == "31\n32\n" and "exited with 4" in done.notes[0]
    assert session.run("\n\n%%sh\necho hi").stdout == "hi\n"
    done = session.run("%%html\n<b>x</b>")
    assert done.results[0].data == {"text/html": b"<b>x</b>"}


def test_files_and_directories(session: Session) -> None:
    session.run(
        "import tempfile\nd = tempfile.mkdtemp()\n%cd {d}"
        if False
        else "import os, tempfile\nos.chdir(tempfile.mkdtemp())"
    )
    assert session.run("%%writefile a.txt\nline 1\nline 2").stdout == "Writing a.txt\n"
    assert session.run("%%writefile -a a.txt\nline 3").stdout == "Appending to a.txt\n"
    assert session.run("%cat a.txt").stdout.split("\n")[0] == "line 1"
    assert session.run("%ls").stdout == "a.txt\n"
    session.run("%mkdir sub\n%cd sub")
    assert (session.run("%pwd").value or "").endswith("/sub'")
    session.run("%cd ..")
    assert session.run("%ls").stdout == "a.txt\nsub\n"


def test_environment(session: Session) -> None:
    session.run("%env A_B=hello")
    assert session.run("%env A_B").value == "'hello'"
    assert session.run("!echo $A_B").stdout == "hello\n"
    assert "'A_B': 'hello'" in (session.run("%env").value or "")


def test_names(session: Session) -> None:
    session.run("alpha = 1\nbeta = 'b'")
    assert session.run("%who").stdout == "alpha   beta\n"
    session.run("%reset -f")
    assert session.run("alpha").error is not None
    assert session.run("1").value == "1"


def test_run_a_file(session: Session) -> None:
    session.run("import os, tempfile\nos.chdir(tempfile.mkdtemp())")
    session.run(
        "%%writefile s.py\nimport sys\nargs = sys.argv\nif __name__ == '__main__': main = True\n"
    )

    assert session.run("%run s.py one 'two three'\n(args, main)").value == (
        "(['s.py', 'one', 'two three'], True)"
    )


def test_capture(session: Session) -> None:
    assert session.run("%%capture out\nprint('x')\n5").stdout == ""
    assert session.run("out.stdout").value == "'x\\n'"


def test_settings_of_other_notebooks_are_accepted(session: Session) -> None:
    done = session.run(
        "%load_ext autoreload\n%autoreload 2\n%matplotlib inline\n%config X.y = 1\n1"
    )

    assert done.value == "1" and "ignored" in done.notes[0]


@pytest.mark.parametrize(
    "code",
    [
        "%pip install surely-not-there", "!pip install surely-not-there", "pip install surely-not-there",
        "!python3 -m pip install -q surely-not-there", "!pip3 install 'surely-not-there>=1'",
        "%conda install -y -c conda-forge surely-not-there", "uv pip install surely-not-there",
        "%uv pip install surely-not-there", "python -m pip install surely-not-there",
        "%pip install --no-cache-dir --timeout 60 surely-not-there  # a comment",
        "!pip install surely-not-there>=1",
    ],
)  # fmt: skip
def test_packages_are_asked_of_the_server(session: Session, code: str) -> None:
    session.start(code)
    reply = {"added": ["surely-not-there==1"], "code": "", "detail": "", "remedy": ""}
    done = session.wait(answers=[reply])

    assert done.asked == [] and done.requested[0][0].startswith("surely-not-there")
    assert done.error is None and (
        "Successfully installed surely-not-there-1" in done.stdout or "-q" in code
    )


def test_packages_that_the_server_refuses(session: Session) -> None:
    session.start(
        "try:\n    %pip install surely-not-there\nexcept RuntimeError as e:\n    p = e\n"
        "(p.packages, p.code, str(p))"
    )
    refusal = {"added": [], "code": "conflict", "detail": "it does not fit", "remedy": "do without"}
    done = session.wait(answers=[refusal])

    assert done.value is not None
    assert "['surely-not-there']" in done.value and "'conflict'" in done.value
    assert "it does not fit. do without" in done.value


def test_too_many_packages_are_refused_before_anybody_is_asked(session: Session) -> None:
    done = session.run("await vitrine_install(*['x'] * 65)")

    assert done.error is not None and "too many packages" in done.error[1]
    assert done.requested == []


def test_packages_that_are_there(loaded: Session) -> None:
    done = loaded.run("!pip install -q numpy\n%pip install pandas\n1")

    assert done.value == "1" and done.stdout.count("already satisfied") == 1
    assert "numpy==" in loaded.run("%pip freeze").stdout
    assert "numpy " in loaded.run("%pip list").stdout
    assert "Version: " in loaded.run("%pip show numpy").stdout


def test_help_by_question_mark(session: Session) -> None:
    assert "number of items" in session.run("len?").stdout
    assert "not found" in session.run("?nothing_here").stdout


def test_pasted_code_with_a_common_indent(session: Session) -> None:
    assert session.run("    x = 4\n    if x:\n        y = x\n\n    y").value == "4"
    assert session.run("    x = 1\n  y = 2").error is not None
