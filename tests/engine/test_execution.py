# SPDX-License-Identifier: Apache-2.0
"""What an execution means: values, exceptions, ends, input, environment, seeds."""

from __future__ import annotations

import signal

import pytest
from client import Keeper, KeeperError, Session
from engine_keepers import both_modes

import wire


@both_modes
@pytest.mark.parametrize("variant", ["bare", "loaded", "seeded"])
def test_state_persists_from_one_execution_to_the_next(keeper: Keeper, variant: str) -> None:
    session = keeper.create(variant)

    first = session.run("x = 20\ndef double(n): return 2 * n")
    second = session.run("double(x) + 2")

    assert (first.outcome, first.exit_code, first.texts) == ("ok", 0, [])
    assert (second.outcome, second.texts, second.stdout) == ("ok", ["42"], b"")


def test_a_session_of_the_pool_has_run_nothing_before(keeper: Keeper) -> None:
    session = keeper.create("loaded")

    names = session.run("sorted(n for n in globals() if not n.startswith('_'))")
    traceback = session.run("1 / 0").error

    assert "rehears" not in names.texts[0]
    assert traceback is not None and '"<cell 2>", line 1' in traceback["traceback"]
    assert session.run("_").texts == names.texts


def test_only_the_last_expression_is_a_result(session: Session) -> None:
    assert session.run("1\n2\n3").texts == ["3"]
    assert session.run("4;").texts == []
    assert session.run("None").texts == []
    assert session.run("x = 5").texts == []
    assert session.run("").outcome == "ok"
    assert session.run("# nothing").outcome == "ok"


def test_underscore_is_the_last_value(session: Session) -> None:
    session.run("6 * 7")
    session.run("x = 1")

    assert session.run("_ + 1").texts == ["43"]


def test_an_exception_shows_the_users_lines_and_keeps_the_state(session: Session) -> None:
    session.run("kept = 'yes'")

    failed = session.run("def f(n):\n    return 1 / n\n\nf(0)\n")

    assert (failed.outcome, failed.exit_code, failed.state_kept) == ("exception", 1, True)
    assert failed.error is not None
    assert (failed.error["name"], failed.error["value"]) == (
        "ZeroDivisionError",
        "division by zero",
    )
    assert "return 1 / n" in failed.error["traceback"]
    assert "line 2, in f" in failed.error["traceback"]
    assert "vitrine" not in failed.error["traceback"]
    assert session.run("kept").texts == ["'yes'"]


def test_chained_exceptions_name_no_frame_of_ours(session: Session) -> None:
    failed = session.run(
        "import json\n"
        "try:\n    json.loads('{')\n"
        "except ValueError as e:\n    raise RuntimeError('outer') from e"
    )

    assert failed.error is not None
    text = failed.error["traceback"]
    assert "JSONDecodeError" in text and "RuntimeError: outer" in text
    assert "vitrine" not in text and "exec(" not in text


def test_a_syntax_error_names_its_line(session: Session) -> None:
    failed = session.run("a = 1\nb = = 2\n")

    assert (failed.outcome, failed.exit_code) == ("exception", 1)
    assert failed.error is not None and failed.error["name"] == "SyntaxError"
    assert "line 2" in failed.error["traceback"] and "b = = 2" in failed.error["traceback"]
    assert "vitrine" not in failed.error["traceback"]


@pytest.mark.parametrize(
    ("code", "outcome", "exit_code"),
    [
        ("import sys; sys.exit()", "ok", 0),
        ("import sys; sys.exit(0)", "ok", 0),
        ("import sys; sys.exit(3)", "exception", 3),
        ("import sys; sys.exit('bad')", "exception", 1),
        ("raise SystemExit(256 + 7)", "exception", 7),
        ("exit(4)", "exception", 4),
    ],
)
def test_sys_exit_ends_the_execution_but_not_the_session(
    session: Session, code: str, outcome: str, exit_code: int
) -> None:
    session.run("x = 1")

    left = session.run(code)

    assert (left.outcome, left.exit_code) == (outcome, exit_code)
    assert session.run("x").texts == ["1"]


@both_modes
@pytest.mark.parametrize(
    ("code", "death"),
    [
        ("import os; os._exit(7)", ("exited", 7)),
        ("import os; os._exit(0)", ("exited", 0)),
        ("import ctypes; ctypes.string_at(0)", ("signalled", signal.SIGSEGV)),
        ("import os; os.abort()", ("signalled", signal.SIGABRT)),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", ("signalled", signal.SIGKILL)),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", ("signalled", signal.SIGTERM)),
        ("import faulthandler; faulthandler._sigabrt()", ("signalled", signal.SIGABRT)),
        ("import faulthandler; faulthandler._stack_overflow()", ("signalled", signal.SIGSEGV)),
    ],
)
def test_a_crash_is_told_by_the_kernel_and_ends_the_session(
    keeper: Keeper, code: str, death: tuple[str, int]
) -> None:
    session = keeper.create()
    session.run("print('before', flush=True)")

    crashed = session.run(f"print('said')\n{code}")

    assert (crashed.outcome, crashed.death, crashed.claim) == ("crashed", death, None)
    assert b"said\n" in crashed.stdout
    assert session.is_dead()


def test_a_dead_session_answers_with_a_remedy_until_it_is_reset(
    keeper: Keeper, session: Session
) -> None:
    session.run("x = 1\nopen('file', 'w').write('text')")
    session.run("import os; os._exit(1)")

    for verb in (wire.INTERRUPT, wire.ASK_STACK, wire.WATCH, wire.KILL, wire.ATTACH):
        error = refusal(session, verb)
        assert (error.code, bool(error.remedy)) == ("unavailable", True), verb
    session.reset()

    assert session.run("import os\n'x' in globals(), os.listdir()").texts == ["(False, [])"]
    assert not session.is_dead()


def refusal(session: Session, verb: int) -> KeeperError:
    numbers = {wire.INTERRUPT: (1,), wire.ASK_STACK: (1,), wire.WATCH: (1, 1000)}.get(verb, ())
    with pytest.raises(KeeperError) as raised:
        session.verb(verb, *numbers)
    return raised.value


def test_recursion_without_end_is_an_exception(session: Session) -> None:
    failed = session.run("def f(): return f()\nf()")

    assert failed.outcome == "exception"
    assert failed.error is not None and failed.error["name"] == "RecursionError"
    assert session.run("1").texts == ["1"]


def test_memory_that_cannot_be_had_is_an_exception(session: Session) -> None:
    failed = session.run("x = bytearray(1 << 60)")

    assert failed.outcome == "exception"
    assert failed.error is not None and failed.error["name"] == "MemoryError"
    assert session.run("1").texts == ["1"]


def test_top_level_await_works_and_its_loop_lives_on(session: Session) -> None:
    session.run("import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n + 1")

    assert session.run("await f(1)").texts == ["2"]
    assert session.run("sum(await asyncio.gather(*(f(i) for i in range(10))))").texts == ["55"]
    session.run("task = asyncio.create_task(f(40))")
    assert session.run("await task").texts == ["41"]
    assert session.run("asyncio.run(f(5))").texts == ["6"]


def test_an_exclamation_mark_runs_a_shell_command(session: Session) -> None:
    ran = session.run("!echo out; echo err >&2; exit 3")

    assert (ran.stdout, ran.stderr) == (b"out\n", b"err\n")
    assert session.run("lines = !printf 'a\\nb\\n'\nlist(lines)").texts == ["['a', 'b']"]
    assert session.run("!cat /etc/hostname").stdout == b"sandbox\n"


def test_input_reads_the_given_stdin_and_then_says_what_to_do(session: Session) -> None:
    read = session.run("[input('> '), input()]", stdin=b"one\ntwo\n")
    used_up = session.run("input()\ninput()", stdin=b"only\n")

    assert (read.texts, read.stdout) == (["['one', 'two']"], b"> ")
    assert used_up.error is not None and used_up.error["name"] == "EOFError"


def test_input_without_stdin_does_not_hang(session: Session) -> None:
    failed = session.run("name = input('Name? ')")
    read = session.run("import sys\nsys.stdin.read(), __import__('os').read(0, 1)")

    assert failed.error is not None and failed.error["name"] == "EOFError"
    assert "stdin" in failed.error["value"]
    assert read.texts == ["('', b'')"]


def test_given_stdin_reaches_subprocesses_and_is_gone_afterwards(session: Session) -> None:
    assert session.run("!cat", stdin=b"for the child\n").stdout == b"for the child\n"
    assert session.run("!cat").stdout == b""


def test_interactive_input_asks_the_client(session: Session) -> None:
    asked: list[tuple[str, bool]] = []
    answers = iter([b"Ada\n", b"secret\n", None])

    def answer(request: dict[str, object]) -> bytes | None:
        asked.append((str(request["prompt"]), bool(request["password"])))
        return next(answers)

    talked = session.run(
        "import getpass\nprint(input('Name? '), getpass.getpass('Key? '))\ninput('More? ')",
        interactive=True,
        on_input=answer,
    )

    assert asked == [("Name? ", False), ("Key? ", True), ("More? ", False)]
    assert talked.stdout == b"Ada secret\n"
    assert talked.error is not None and talked.error["name"] == "EOFError"


def test_variables_of_one_execution_are_put_back(session: Session) -> None:
    code = "import os, subprocess\nos.environ.get('K'), subprocess.getoutput('echo $K')"

    assert session.run(code, env={"K": "v"}).texts == ["('v', 'v')"]
    assert session.run(code).texts == ["(None, '')"]


def test_variables_of_the_session_stay_and_can_be_overlaid(keeper: Keeper) -> None:
    session = keeper.create(env={"K": "session", "TZ": "Asia/Tokyo"})
    code = "import os\nos.environ['K']"

    assert session.run(code).texts == ["'session'"]
    assert session.run(code, env={"K": "one"}).texts == ["'one'"]
    assert session.run(code).texts == ["'session'"]
    assert session.run("import time\ntime.localtime(0).tm_hour").texts == ["9"]


RANDOM = (
    "import random, numpy\n"
    "[random.random(), float(numpy.random.random()), hash('text'), list({'a', 'b', 'c', 'd'})]"
)


def test_the_same_seed_gives_the_same_randomness_and_hashes(keeper: Keeper) -> None:
    texts = [keeper.create("seeded", seed=seed).run(RANDOM).texts for seed in (7, 7, 8)]

    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


@both_modes
def test_sessions_without_a_seed_share_no_randomness(keeper: Keeper) -> None:
    code = (
        "import os, random, uuid, numpy\n"
        "[random.random(), float(numpy.random.random()), os.urandom(8), uuid.uuid4().hex,\n"
        " float(numpy.random.default_rng().random())]"
    )

    drawn = [keeper.create("loaded").run(code).texts[0] for _ in range(4)]

    for numbers in zip(*(text.strip("[]").split(", ") for text in drawn), strict=True):
        assert len(set(numbers)) == 4, numbers


def test_the_first_execution_of_a_session_may_be_anything(keeper: Keeper) -> None:
    for code in ("1 / 0", "while True print", "import sys; sys.exit(2)", "raise KeyboardInterrupt"):
        session = keeper.create()
        assert session.run(code).outcome == "exception", code
        assert session.run("1").texts == ["1"]


def test_a_keyboard_interrupt_of_user_code_is_an_exception(session: Session) -> None:
    raised = session.run("raise KeyboardInterrupt('mine')")

    assert (raised.outcome, raised.exit_code) == ("exception", 1)


def test_files_are_kept_by_a_reset_that_asks_for_it(keeper: Keeper, mode: str) -> None:
    if mode == "unprivileged":
        pytest.skip("needs root: files are kept by a cgroup's means")
    session = keeper.create()
    session.run("open('kept', 'w').write('text'); x = 1")
    session.run("import os; os._exit(0)")

    session.reset(keep_files=True)

    assert session.run("open('kept').read(), 'x' in globals()").texts == ["('text', False)"]


@pytest.mark.parametrize("mode", ["unprivileged"])
def test_where_files_cannot_be_kept_the_advised_reset_works(keeper: Keeper) -> None:
    session = keeper.create()
    session.run("x = 1")
    with pytest.raises(KeeperError) as refused:
        session.reset(keep_files=True)
    assert (refused.value.code, bool(refused.value.remedy)) == ("unsupported", True)

    session.reset()

    assert session.run("'x' in globals()").texts == ["False"]


def test_format_exc_and_safe_json_dumps_exist(session: Session) -> None:
    ran = session.run("try:\n    1 / 0\nexcept ZeroDivisionError:\n    text = format_exc()\ntext")

    assert "ZeroDivisionError" in ran.texts[0] and "vitrine" not in ran.texts[0]
    assert session.run("safe_json_dumps({'a': {1, 2}, 'b': object})").outcome == "ok"
