# SPDX-License-Identifier: Apache-2.0
"""OpenEnv's checklist, continued: capacity, long runs, large replies, screenshots."""

from __future__ import annotations

import base64
import time
from typing import Any

import pytest
import websockets.exceptions
from served import Server, until, within

from clients import CodeAction, FirstGeneration, Frames, coding, generic

# ---- CAPACITY_REACHED frame then close 1000; session destroyed on disconnect


@pytest.fixture(scope="module")
def small() -> Any:
    one = Server("--capacity", "3", "--pool", "2")
    yield one
    log = one.read_log()
    one.end()
    assert "starting another" not in log, log


def test_a_full_server_says_so_and_closes_with_1000(small: Server) -> None:
    url = f"http://{small.host}"
    full = [Frames(url) for _ in range(3)]
    for frames in full:
        frames.ask({"type": "reset"})

    with Frames(url) as refused:
        error = refused.receive()

        assert error["type"] == "error"
        assert error["data"].pop("message") == (
            "Server at capacity: 3/3 sessions active. Cannot accept new connections."
        )
        assert error["data"] == {
            "code": "CAPACITY_REACHED",
            "active_sessions": 3,
            "max_sessions": 3,
        }
        with pytest.raises(websockets.exceptions.ConnectionClosedOK) as closed:
            refused.receive()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1000
    for pause in (0, 0.3):  # however long the client takes to ask
        with pytest.raises(RuntimeError, match="CAPACITY_REACHED"), generic(url) as env:
            time.sleep(pause)
            env.reset()
    assert small.post("/step", {"action": {"code": "1"}}).status == 503
    created = small.post(
        "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create"}
    ).json
    assert created["error"]["code"] == -32000, created
    assert created["error"]["data"] == {"active_sessions": 3, "max_sessions": 3}
    for frames in full:  # those that are in go on, also with new episodes
        for _ in range(3):
            assert frames.ask({"type": "reset"})["type"] == "observation"
            assert frames.step("6 * 7")["stdout"] == "42"
        frames.socket.close()

    def room() -> bool:
        try:
            with generic(url) as env:
                env.reset()
            return True
        except RuntimeError:
            return False

    assert until(room, 2)


@pytest.mark.parametrize("code", [None, "while True: pass", "import time; time.sleep(100)"])
def test_a_client_that_vanishes_frees_its_environment_within_a_second(
    server: Server, url: str, code: str | None
) -> None:
    before = set(server.listed())
    frames = Frames(url)
    frames.ask({"type": "reset"})
    if code:
        frames.send({"type": "step", "data": {"code": code}})
        time.sleep(0.3)
    assert set(server.listed()) - before

    frames.socket.socket.close()  # without a word

    assert within(lambda: not set(server.listed()) - before, 1), "still there"


# ---- ping answered during a run; runaway code answered; reply < 1 MiB


def test_pings_are_answered_while_code_runs(url: str) -> None:
    with Frames(url) as frames:
        frames.step("1")
        frames.send({"type": "step", "data": {"code": "import time; time.sleep(2); 'over'"}})
        for _ in range(5):
            assert frames.socket.ping().wait(0.5), "no pong"
            time.sleep(0.1)

        assert frames.receive()["data"]["observation"]["stdout"] == "'over'"


@pytest.mark.long
def test_pings_are_answered_during_a_run_of_40_seconds(url: str) -> None:
    with generic(url) as env:  # pings every 20 s by itself
        began = time.monotonic()
        seen = env.step({"code": "import time; time.sleep(40); 'over'", "timeout_s": 45})
        assert seen.observation["stdout"] == "'over'" and time.monotonic() - began >= 40


@pytest.mark.long
def test_runaway_code_is_answered_before_the_client_gives_up(url: str) -> None:
    with generic(url) as env:
        began = time.monotonic()
        seen = env.step({"code": "while True: pass", "timeout_s": 1000}).observation
        assert seen["exit_code"] == 124 and 20 < time.monotonic() - began < 59


def test_runaway_code_is_answered_with_its_stack(url: str) -> None:
    code = "x = 1\ndef spin():\n    while True: pass\nprint('begun', flush=True)\nspin()"
    with generic(url) as env:
        began = time.monotonic()

        seen = env.step({"code": code, "timeout_s": 1}).observation

        assert time.monotonic() - began < 5
        assert seen["exit_code"] == 124 and seen["stdout"] == "begun\n"
        assert "spin" in seen["stderr"] and "line 3" in seen["stderr"]
        assert env.step({"code": "x"}).observation["stdout"] == "1"
        assert env.state()["last_exit_code"] == 0 and env.state()["step_count"] == 2


def test_code_that_cannot_be_interrupted_is_answered_too(url: str) -> None:
    code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    with generic(url) as env:
        began = time.monotonic()
        seen = env.step({"code": code, "timeout_s": 1}).observation
        assert time.monotonic() - began < 8
        assert seen["exit_code"] == 124 and seen["stderr"]
        assert env.step({"code": "6 * 7"}).observation["stdout"] == "42"


def test_the_first_generation_is_answered_before_its_own_time_limit(url: str) -> None:
    env = FirstGeneration(url, timeout=3)
    env.reset()

    seen = env.step("while True: pass")

    assert seen["observation"]["exit_code"] == 124 and "line 1" in seen["observation"]["stderr"]


LARGE = {
    "stdout": "print('x' * 5_000_000)",
    "both": "import sys\nprint('x' * 3_000_000)\nprint('y' * 3_000_000, file=sys.stderr)",
    "escapes": "print(chr(1) * 3_000_000)",
    "escapes in both": "import sys\nfor f in sys.stdout, sys.stderr: print(chr(27) * 2_000_000, file=f)",
    "quotes": "print('\"' * 3_000_000)",
    "wide": "print('\\U0001f600' * 1_000_000)",
    "value": "'\\\\' * 3_000_000",
    "bytes": "import os\nfor _ in range(30): os.write(1, b'\\xff' * 65536)",
    "error": "raise ValueError(chr(2) * 3_000_000)",
}


@pytest.mark.parametrize("code", LARGE.values(), ids=LARGE.keys())
def test_a_reply_stays_below_a_mebibyte(url: str, code: str) -> None:
    with Frames(url) as frames:  # closes at 1 MiB, as clients of 0.2.1 do
        seen = frames.step(code)
        assert len(seen["stdout"]) + len(seen["stderr"]) > (2000 if "raise" in code else 50_000)
        assert frames.step("6 * 7")["stdout"] == "42"


def test_code_of_megabytes_is_taken(url: str) -> None:
    with Frames(url) as frames:
        assert frames.step("x = '" + "y" * 5_000_000 + "'\nlen(x)")["stdout"] == "5000000"


# ---- stock clients with screenshots; no `screenshot` key unless asked


def test_no_client_finds_a_screenshot_that_it_did_not_ask_for(url: str) -> None:
    with Frames(url) as frames:
        assert frames.step("1").keys() == {"stdout", "stderr", "exit_code"}


def test_a_screenshot_that_was_asked_for_beside_the_code_is_answered_there(url: str) -> None:
    with generic(url) as env:
        code = "import tkinter; r = tkinter.Tk()"
        seen = env.step({"code": code, "capture_screenshot": True, "render_timeout": 1}).observation
        assert base64.b64decode(seen["screenshot"]).startswith(b"\x89PNG")
        assert seen["exit_code"] == 0 and "screenshot_error" not in seen.get("metadata", {})
        blank = env.step({"code": "r.destroy()", "capture_screenshot": True}).observation
        assert blank["screenshot"] and "blank" in blank["metadata"]["screenshot_note"]


def test_typed_clients_may_ask_for_screenshots_at_reset(url: str) -> None:
    with coding(url) as env:
        env.reset(capture_screenshot=True)
        result = env.step(CodeAction(code="1"))
        assert base64.b64decode(result.observation.metadata["screenshot"]).startswith(b"\x89PNG")
        assert result.reward == 0.1
    with Frames(url) as frames:
        seen = frames.step("1", metadata={"capture_screenshot": True})
        assert "screenshot" not in seen and "screenshot" in seen["metadata"]


def test_results_and_usage_are_in_metadata_when_asked_for(url: str) -> None:
    with Frames(url) as frames:
        seen = frames.step("6 * 7", metadata={"results": True, "usage": True})
        assert seen["metadata"].keys() == {"results", "usage"}
        assert seen["metadata"]["results"] == [{"text/plain": "42"}]
        assert seen["metadata"]["usage"]["wall_ms"] >= 0
        assert "metadata" not in frames.step("6 * 7")
        seen = frames.step("chr(1) * 2_000_000", metadata={"results": True})
        assert seen["metadata"].keys() & {"results", "results_error"}
    with coding(url) as env:
        env.reset(usage=True)
        assert env.step(CodeAction(code="1")).observation.metadata.keys() == {"usage"}
