# SPDX-License-Identifier: Apache-2.0
"""Executions: every field, every outcome of the table, bounded output, results, stack, queue."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable

import pytest
from served import SAFETY, Background, Session, until

FIELDS = {
    "id",
    "outcome",
    "exit_code",
    "stdout",
    "stderr",
    "truncated",
    "results",
    "error",
    "state_kept",
    "notes",
    "usage",
}


def verdict(execution: dict[str, object]) -> tuple[object, ...]:
    return execution["outcome"], execution["exit_code"], execution["state_kept"]


def test_an_execution_has_every_field(session: Session) -> None:
    execution = session.run("import sys; print('out'); print('err', file=sys.stderr)\n6 * 7")

    assert execution.keys() >= FIELDS
    assert re.fullmatch(r"[0-9a-f]{32}", execution["id"])
    assert verdict(execution) == ("ok", 0, True)
    assert execution["stdout"] == "out\n"
    assert execution["stderr"] == "err\n"
    assert execution["truncated"] == {"stdout": False, "stderr": False}
    assert execution["results"] == [{"text/plain": "42"}]
    assert execution["error"] is None
    assert execution["notes"] == []
    assert execution["usage"].keys() == {"wall_ms", "cpu_ms", "peak_memory_kb"}
    assert "screenshot" not in execution, "only when asked for"


def test_usage_is_measured(session: Session) -> None:
    usage = session.run("n = sum(i * i for i in range(1_000_000))")["usage"]

    assert usage["wall_ms"] > 0
    assert usage["cpu_ms"] > 0
    assert usage["peak_memory_kb"] > 0


@pytest.mark.parametrize(
    ("code", "outcome", "exit_code"),
    [
        ("", "ok", 0),
        ("import sys; sys.exit()", "ok", 0),
        ("import sys; sys.exit(0)", "ok", 0),
        ("import sys; sys.exit(None)", "ok", 0),
        ("import sys; sys.exit(3)", "exception", 3),
        ("import sys; sys.exit('words')", "exception", 1),
        ("raise SystemExit(255)", "exception", 255),
        ("1 / 0", "exception", 1),
        ("def (:", "exception", 1),
        ("raise KeyboardInterrupt", "exception", 1),
        ("class E(BaseException): pass\nraise E('x')", "exception", 1),
        ("await __import__('asyncio').sleep(0)", "ok", 0),
        ("!exit 0", "ok", 0),
    ],
)
def test_outcomes_that_keep_the_state(
    session: Session, code: str, outcome: str, exit_code: int
) -> None:
    session.run("x = 41")

    execution = session.run(code)

    if "KeyboardInterrupt" in code:  # raised by the code itself: either word is true
        assert execution["outcome"] in ("exception", "interrupted"), execution
    else:
        assert verdict(execution) == (outcome, exit_code, True), execution
    assert session.value("x + 1") == "42"


def test_an_error_tells_name_value_and_own_lines_only(session: Session) -> None:
    execution = session.run("print('before')\ndef f():\n    raise ValueError('süß')\nf()")

    assert execution["stdout"] == "before\n"
    error = execution["error"]
    assert error.keys() == {"name", "value", "traceback"}
    assert (error["name"], error["value"]) == ("ValueError", "süß")
    assert "line 3" in error["traceback"] and "line 4" in error["traceback"]
    assert "vitrine" not in error["traceback"].lower(), "frames of ours"


def test_interrupted_keeps_the_state(session: Session) -> None:
    session.run("x = 1")
    running = session.settled("import time\nx = 2\ntime.sleep(600)")

    assert session.call("POST", "/interrupt").status == 204

    assert verdict(running.result().json) == ("interrupted", 130, True)
    assert session.value("x") == "2"


def test_an_interrupt_right_after_the_start_counts(session: Session) -> None:
    outcomes = []
    for _ in range(20):
        running = session.background("import time; time.sleep(3)")
        session.call("POST", "/interrupt")
        outcomes.append(running.result().json["outcome"])

    assert set(outcomes) == {"interrupted"}, outcomes


def test_timeout_that_yields_keeps_the_state_and_shows_the_stack(session: Session) -> None:
    session.run("x = 5")

    execution = session.run("def slow_part():\n    while True: pass\nslow_part()", timeout_s=0.5)

    assert verdict(execution) == ("timeout", 124, True), execution
    assert "slow_part" in execution["error"]["traceback"], execution
    assert session.value("x") == "5"


def test_timeout_of_the_session_counts_when_none_is_given(create: Callable[..., Session]) -> None:
    session = create(limits={"exec_timeout_s": 0.5})

    assert verdict(session.run("while True: pass")) == ("timeout", 124, True)


def test_timeout_that_does_not_yield_loses_the_state(session: Session) -> None:
    code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ndef stubborn():\n"
    code += "    while True:\n        try: time.sleep(600)\n        except BaseException: pass\nstubborn()"

    execution = session.run(code, timeout_s=0.5)

    assert verdict(execution) == ("timeout", 124, False), execution
    assert "stubborn" in (execution["error"] or {}).get("traceback", ""), execution
    session.exec("1").is_problem(410, "session_dead")


def test_timeout_ends_code_that_holds_the_interpreter(session: Session) -> None:
    execution = session.run("import re; re.match('(a+)+b', 'a' * 64)", timeout_s=0.5)

    assert execution["outcome"] == "timeout", execution
    assert execution["exit_code"] == 124


def test_oom_is_told_from_a_crash(create: Callable[..., Session]) -> None:
    session = create(limits={"memory_mb": 128})

    execution = session.run(
        "print('soon', flush=True)\nx = bytearray(2 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1"
    )

    assert verdict(execution) == ("oom", 137, False), execution
    assert execution["stdout"] == "soon\n"
    assert "oom" in session.exec("1").is_problem(410, "session_dead").json["detail"]


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("import os; os._exit(0)", 0),
        ("import os; os._exit(7)", 7),
        ("import os; os.kill(os.getpid(), 9)", 137),
        ("import os; os.kill(os.getpid(), 15)", 143),
        ("import ctypes; ctypes.string_at(0)", 139),
        ("import os; os.abort()", 134),
    ],
)
def test_crashes_by_how_they_died(session: Session, code: str, exit_code: int) -> None:
    execution = session.run("print('last words', flush=True)\n" + code)

    assert verdict(execution) == ("crashed", exit_code, False), execution
    assert execution["stdout"] == "last words\n"
    session.exec("1").is_problem(410, "session_dead")


def test_a_crash_answers_those_that_wait(session: Session) -> None:
    running = session.background("import time, os; time.sleep(1.5); os._exit(3)")
    waiting = [Background(lambda: session.exec("1")) for _ in range(3)]

    assert running.result().json["outcome"] == "crashed"
    for one in waiting:
        answer = one.result()
        if answer.status == 410:
            continue
        execution = answer.json
        assert (execution["outcome"], execution["state_kept"]) == ("crashed", False)
        assert execution["notes"], "it says that it never began"
        assert re.fullmatch(r"[0-9a-f]{32}", execution["id"]), "an execution has an id"
        assert session.call("GET", "/executions/" + execution["id"]).status == 200, "acknowledged"


def test_long_output_keeps_head_and_tail(create: Callable[..., Session]) -> None:
    session = create(limits={"output_kb": 4})
    code = "import sys\nprint('HEAD'); print('x' * 100_000); print('TAIL')"

    execution = session.run(code + "\nprint('E' * 90_000, file=sys.stderr)")

    assert execution["truncated"] == {"stdout": True, "stderr": True}
    assert execution["stdout"].startswith("HEAD\n")
    assert execution["stdout"].endswith("TAIL\n")
    assert len(execution["stdout"]) < 6 * 1024
    assert session.run("print('y' * 1000)")["truncated"]["stdout"] is False


def test_output_up_to_the_limit_is_whole(create: Callable[..., Session]) -> None:
    session = create(limits={"output_kb": 64})

    execution = session.run("print('x' * 40_000, end='')")

    assert execution["truncated"]["stdout"] is False, "40 kB are fewer than 64 KiB"
    assert execution["stdout"] == "x" * 40_000


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (b"a\xffb", "a\N{REPLACEMENT CHARACTER}b"),
        (b"\xed\xa0\x80", "\N{REPLACEMENT CHARACTER}" * 3),
        ("grüße 日本 🎉".encode(), "grüße 日本 🎉"),
        (b"\x00\x1b[0m", "\x00\x1b[0m"),
        (b"cut\xe2\x82", "cut\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_bytes_become_text(session: Session, printed: bytes, shown: str) -> None:
    execution = session.run(f"import os; os.write(1, {printed!r}); None")

    assert execution["stdout"] == shown


def test_lone_surrogates_in_results_become_text(session: Session) -> None:
    execution = session.run("'\\ud800'")

    assert execution["outcome"] == "ok", execution
    assert "text/plain" in execution["results"][0]
    assert session.run("raise ValueError('\\udfff')")["error"]["name"] == "ValueError"


def test_output_of_children_and_of_c_code_counts(session: Session) -> None:
    code = "!echo child; echo oops >&2\nimport ctypes; libc = ctypes.CDLL(None); libc.puts(b'from c'); libc.fflush(None); None"

    execution = session.run(code)

    assert "child\n" in execution["stdout"] and "from c\n" in execution["stdout"]
    assert execution["stderr"] == "oops\n"


def test_results_are_mime_bundles(session: Session) -> None:
    code = "class Both:\n def _repr_html_(self): return '<b>x</b>'\n def __repr__(self): return 'plain'\ndisplay(Both())\nBoth()"

    execution = session.run(code)

    bundle = {"text/plain": "plain", "text/html": "<b>x</b>"}
    assert execution["results"] == [bundle, bundle]


def test_a_figure_is_a_png_in_base64(session: Session) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"

    results = session.run(code, timeout_s=60)["results"]

    images = [one["image/png"] for one in results if "image/png" in one]
    assert images, results
    assert base64.b64decode(images[0], validate=True).startswith(b"\x89PNG\r\n\x1a\n")


def test_a_frame_is_html_too(session: Session) -> None:
    results = session.run("import pandas; pandas.DataFrame({'a': [1]})", timeout_s=60)["results"]

    assert "<table" in results[-1]["text/html"]
    assert "text/plain" in results[-1]


def test_stdin_and_environment_of_one_execution(session: Session) -> None:
    first = session.run(
        "import os; print(input()); print(input()); os.environ['E']", stdin="a\nb\n", env={"E": "1"}
    )
    second = session.run("import os; 'E' in os.environ")
    third = session.run("input()")

    assert first["stdout"] == "a\nb\n"
    assert first["results"] == [{"text/plain": "'1'"}]
    assert second["results"] == [{"text/plain": "False"}]
    assert third["error"]["name"] in ("EOFError", "StdinNotImplementedError"), third


def test_fields_that_are_for_later_are_taken(session: Session) -> None:
    execution = session.run("1", capture_screenshot=False, render_timeout=0.5, display_time=3)

    assert execution["outcome"] == "ok"


def test_the_stack_shows_where_it_is_without_stopping_it(session: Session) -> None:
    code = "import time\ndef deep_down():\n    while not go: time.sleep(0.01)\ngo = False\n"
    code += "import os\ndef watch():\n    while not os.path.exists('go'): time.sleep(0.01)\nwatch()"
    running = session.settled(code)

    def stack() -> dict[str, object]:
        return dict(session.call("GET", "/stack").json)

    shown = until(lambda: "watch" in ((s := stack())["stack"] or "") and s)
    assert shown["running"] is True
    assert "watch" in shown["stack"]
    assert not running.is_over()
    session.put("go", b"")
    execution = running.result().json
    assert execution["outcome"] == "ok"
    assert execution["id"] == shown["execution"]


def test_the_stack_of_an_idle_session_is_empty(session: Session) -> None:
    answer = session.call("GET", "/stack")

    assert answer.status == 200
    assert answer.json["running"] is False
    assert answer.json["execution"] is None
    assert not answer.json["stack"]


def test_two_ask_for_the_stack_at_once(session: Session) -> None:
    running = session.settled("import time; time.sleep(600)")

    asked = [Background(lambda: session.call("GET", "/stack")) for _ in range(4)]

    for one in asked:
        answer = one.result()
        assert answer.status == 200
        assert "<cell" in (answer.json["stack"] or ""), answer
    session.call("POST", "/interrupt")
    running.result()


def test_sixteen_wait_in_order_then_429(session: Session) -> None:
    running = session.background(
        "import time, os\norder = []\nwhile not os.path.exists('go'): time.sleep(0.01)",
        timeout_s=SAFETY,
    )
    asked = [Background(lambda n=n: session.exec(f"order.append({n})")) for n in range(17)]

    until(lambda: any(one.is_over() for one in asked))
    [refused] = [one for one in asked if one.is_over()]
    answer = refused.result().is_problem(429, "queue_full")
    assert int(answer.headers["Retry-After"]) >= 1
    session.put("go", b"")
    assert running.result().json["outcome"] == "ok"
    waited = [n for n, one in enumerate(asked) if one is not refused]
    for n in waited:
        assert asked[n].result().json["outcome"] == "ok"
    assert session.value("sorted(order)") == str(waited)


def test_executions_wait_their_turn(session: Session) -> None:
    running = session.background(
        "import time, os\nsteps = ['a']\nwhile not os.path.exists('go'): time.sleep(0.01)\nsteps.append('b')"
    )
    second = Background(lambda: session.exec("steps.append('c'); steps"))
    session.put("go", b"")

    assert running.result().json["outcome"] == "ok"
    assert second.result().json["results"] == [{"text/plain": "['a', 'b', 'c']"}]
