# SPDX-License-Identifier: Apache-2.0
"""The synchronous client against a real server."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import vitrine
from vitrine import Event, Sandbox


def test_state_stays_from_run_to_run(box: Sandbox) -> None:
    box.run("x = 20").check()

    assert box.run("x + 22").value == 42


def test_a_result_has_everything_that_happened(box: Sandbox) -> None:
    result = box.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n'value'")

    assert (result.ok, result.outcome, result.exit_code) == (True, "ok", 0)
    assert (result.stdout, result.stderr) == ("out\n", "err\n")
    assert (result.text, result.value) == ("'value'", "value")
    assert result.state_kept and result.error is None and result.session == box.id
    assert result.usage.wall_ms > 0


def test_an_exception_inside_is_a_result(box: Sandbox) -> None:
    result = box.run("print('before')\n1/0")

    assert (result.outcome, result.exit_code, result.stdout) == ("exception", 1, "before\n")
    assert result.error is not None
    assert (result.error.name, result.error.value) == ("ZeroDivisionError", "division by zero")
    assert "line 2" in result.error.traceback
    with pytest.raises(vitrine.ExecutionFailed, match="ZeroDivisionError") as caught:
        result.check()
    assert caught.value.result is result


def test_plots_are_captured(box: Sandbox) -> None:
    result = box.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n42")

    assert result.images[0].startswith(b"\x89PNG")
    assert result.value == 42, "a figure is not the value"


def test_input_reads_stdin(box: Sandbox) -> None:
    assert box.run("input() + input()", stdin="a\nb\n").value == "ab"


def test_environment_of_the_session_and_of_one_run() -> None:
    with Sandbox(env={"A": "1"}) as box:
        code = "import os; (os.environ.get('A'), os.environ.get('B'))"

        assert box.run(code, env={"B": "2"}).value == ("1", "2")
        assert box.run(code).value == ("1", None)


REFUSED = """
import requests
try: requests.get("https://example.com/", timeout=30)
except OSError as error: print(error)
"""


def test_a_network_lets_out_to_what_it_names_only() -> None:
    with Sandbox(network=["example.org"]) as box:
        result = box.run(REFUSED)
    once = Sandbox.run(REFUSED, network=["example.org"])

    for one in (result, once):
        assert "example.com:443 is not in this session's network.allow" in one.stdout
        (entry,) = one.network
        assert (entry["host"], entry["decision"]) == ("example.com", "refused")
    assert Sandbox.run("1").network == []
    with pytest.raises(vitrine.InvalidField, match="every host"):
        Sandbox.run("1", network=["*"])


def test_a_policy_refuses_and_says_what_is_allowed() -> None:
    with Sandbox(policy="restricted", imports=["glob"]) as box:
        result = box.run("import os")

        assert (result.outcome, result.state_kept) == ("policy", True)
        assert result.error is not None and result.error.value.startswith("import: line 1: ")
        assert box.run("import glob\n6 * 7").value == 42


def test_a_seed_fixes_what_is_random() -> None:
    drawn = [Sandbox.run("import random; random.random()", seed=7).value for _ in range(2)]

    assert drawn[0] == drawn[1]


def test_limits_are_the_sessions() -> None:
    with Sandbox(limits={"memory_mb": 128, "exec_timeout_s": 5}, name="small") as box:
        info = box.info()

        assert (info.name, info.state) == ("small", "ready")
        assert (box.limits["memory_mb"], info.limits["exec_timeout_s"]) == (128, 5)


def test_a_timeout_keeps_the_state_if_the_code_yields(box: Sandbox) -> None:
    box.run("x = 1")

    result = box.run("while True: pass", timeout=0.3)

    assert (result.outcome, result.exit_code, result.state_kept) == ("timeout", 124, True)
    assert box.run("x").value == 1


def test_streams_while_it_runs(box: Sandbox) -> None:
    seen: list[tuple[str, float]] = []

    result = box.run(
        "import time\nprint('a', flush=True)\ntime.sleep(0.5)\nprint('b')",
        on_stdout=lambda text: seen.append((text, time.monotonic())),
    )

    assert "".join(text for text, _ in seen) == result.stdout == "a\nb\n"
    assert seen[-1][1] - seen[0][1] > 0.3


def test_a_stream_is_cut_at_newlines_only(box: Sandbox) -> None:
    odd = "a\u2028b\u0085c\x0cd\x1ee\r\nf\U0001f600"
    seen: list[str] = []

    result = box.run(f"print({odd!r}, end='')\n{odd!r}", on_stdout=seen.append)

    assert "".join(seen) == result.stdout == odd and result.value == odd
    assert box.run(f"print({odd!r}, end='')").stdout == odd


def test_a_long_stream_is_complete(box: Sandbox) -> None:
    seen: list[str] = []
    result = box.run("for i in range(20000): print(i)", on_stdout=seen.append)

    assert "".join(seen) == result.stdout == "".join(f"{i}\n" for i in range(20000))


def test_events_come_in_order(box: Sandbox) -> None:
    events: list[Event] = []
    result = box.run("print(1)\ndisplay(2)\nimport nope", on_event=events.append)

    assert [event.type for event in events][:2] == ["stdout", "result"]
    assert events[-1].type == "finished" and events[-1].result == result
    assert any(event.type == "error" for event in events)
    assert any("nope" in note for note in result.notes)


def test_leaving_a_stream_interrupts_the_code(box: Sandbox) -> None:
    for event in box.stream("import time\nprint('go', flush=True)\ntime.sleep(60)"):
        if event.type == "stdout":
            break

    start = time.monotonic()
    assert box.run("1").value == 1
    assert time.monotonic() - start < 20
    assert [past.result.outcome for past in box.history() if past.result][1] == "interrupted"


def test_interrupt_from_another_thread(box: Sandbox) -> None:
    begun = threading.Event()
    results: list[vitrine.Result] = []
    code = "import time\nprint('go', flush=True)\ntime.sleep(60)"
    thread = threading.Thread(
        target=lambda: results.append(box.run(code, on_stdout=lambda _: begun.set()))
    )
    thread.start()
    assert begun.wait(20)

    stack = box.stack()
    box.interrupt()
    thread.join(20)

    assert stack.running and "line 3" in (stack.text or "")
    assert (results[0].outcome, results[0].exit_code) == ("interrupted", 130)


def test_ctrl_c_interrupts_the_code_too(box: Sandbox) -> None:
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.5, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        box.run("import time; time.sleep(60)")

    start = time.monotonic()
    assert box.run("1").value == 1
    assert time.monotonic() - start < 20


def test_a_callback_that_raises_interrupts_the_code(box: Sandbox) -> None:
    def refuse(text: str) -> None:
        raise LookupError(text)

    with pytest.raises(LookupError, match="go"):
        box.run("import time\nprint('go', flush=True)\ntime.sleep(60)", on_stdout=refuse)

    start = time.monotonic()
    assert box.run("1").value == 1
    assert time.monotonic() - start < 20


def test_a_child_of_fork_has_connections_of_its_own(box: Sandbox) -> None:
    box.run("x = 1")
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if vitrine.run("6 * 7").value == 42 else 1)
        finally:
            os._exit(2)

    assert os.waitpid(child, 0)[1] == 0
    assert box.run("x").value == 1


def test_reset_gives_a_fresh_process(box: Sandbox) -> None:
    box.run("x = 1; open('kept', 'w').write('1')")

    assert box.reset(files="keep").state == "ready"
    assert box.run("'x' in globals()").value is False
    assert [one.name for one in box.files.list()] == ["kept"]
    box.reset()
    assert box.files.list() == []


def test_a_dead_session_says_so_and_can_be_reset(box: Sandbox) -> None:
    crashed = box.run("import os; os._exit(3)")
    assert (crashed.outcome, crashed.exit_code, crashed.state_kept) == ("crashed", 3, False)

    with pytest.raises(vitrine.SessionDead) as caught:
        box.run("1")

    assert (caught.value.status, caught.value.code) == (410, "session_dead")
    assert "reset" in caught.value.remedy and caught.value.remedy in str(caught.value)
    assert box.info().death is not None
    box.reset()
    assert box.run("1").value == 1


def test_history_is_newest_first(box: Sandbox) -> None:
    for number in range(3):
        box.run(str(number))

    rows = box.history(limit=2)

    assert [row.code for row in rows] == ["2", "1"]
    assert rows[0].result is not None and rows[0].result.value == 2


def test_attach_shares_the_session_and_leaves_it_alive(box: Sandbox) -> None:
    box.run("x = 5")
    with Sandbox.attach(box.id) as other:
        assert other.run("x").value == 5

    assert box.run("x").value == 5


def test_detach_and_end() -> None:
    with Sandbox() as box:
        session = box.detach()

    again = Sandbox.attach(session)
    again.end()
    again.end()
    with pytest.raises(vitrine.NotFound):
        Sandbox.attach(session)


def test_close_ends_the_session_once() -> None:
    box = Sandbox()
    box.close()
    box.close()

    with pytest.raises(vitrine.NotFound):
        box.run("1")


def test_on_the_class_run_is_a_one_shot(box: Sandbox) -> None:
    box.run("x = 1")

    assert Sandbox.run("'x' in globals()").value is False
    assert Sandbox.run_once("6 * 7").value == vitrine.run("6 * 7").value == 42
    assert vitrine.run("print(1)", on_stdout=lambda _: None).stdout == "1\n"


def test_a_one_shot_takes_limits_and_says_oom() -> None:
    result = vitrine.run("b = bytearray(10**9)", limits={"memory_mb": 64})

    assert result.outcome in ("oom", "exception")  # as the host can tell: docs/outcomes.md


def test_what_the_server_does_not_support_is_an_error() -> None:
    with pytest.raises(vitrine.InvalidField) as caught:
        Sandbox(isolation="granite")

    assert caught.value.status == 422 and caught.value.code == "invalid_field"
    with pytest.raises(vitrine.VitrineError, match=r"packages=\['polars'\]"):
        Sandbox(packages="polars")
    with pytest.raises(TypeError, match="code is text"):
        vitrine.run(b"1")  # type: ignore[arg-type]


def test_a_full_queue_is_an_error(box: Sandbox) -> None:
    full: list[vitrine.QueueFull] = []

    def one() -> None:
        try:
            box.run("import time; time.sleep(0.1)")
        except vitrine.QueueFull as error:
            full.append(error)

    threads = [threading.Thread(target=one) for _ in range(25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert full and full[0].status == 429 and full[0].remedy


def test_many_threads_many_sessions() -> None:
    values: list[int] = []

    def one(number: int) -> None:
        with Sandbox() as box:
            values.append(box.run(f"{number} + 1").value)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(values) == list(range(1, 13))


def test_an_environment_is_chosen_by_its_name() -> None:
    assert vitrine.run("6 * 7", environment="default", allow_sdist=True).value == 42
    with Sandbox(environment="default", allow_sdist=True) as box:
        assert box.run("6 * 7").value == 42
    with pytest.raises(vitrine.VitrineError, match="there is no environment"):
        Sandbox(environment="nobody-baked-this")
