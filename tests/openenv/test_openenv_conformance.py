# SPDX-License-Identifier: Apache-2.0
"""The conformance checklist of the wire reference, line by line, with OpenEnv's stock clients."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
import websockets.exceptions
from openenv.core import GenericEnvClient
from served import Background, Server, until

from clients import CodeAction, CodingEnv, FirstGeneration, Frames, coding, generic

START = {"observation": {"stdout": "", "stderr": "", "exit_code": 0}, "reward": 0.0, "done": False}


def post(url: str, path: str, body: Any = None, **more: Any) -> requests.Response:
    """A client that keeps no cookies."""
    return requests.post(url + path, json=body, timeout=60, **more)


# ---- /health 200 {"status":"healthy"} before anything else


def test_health_is_healthy_before_anything_else(start_server: Callable[..., Server]) -> None:
    server = start_server()

    answer = server.get("/health")

    assert (answer.status, answer.json) == (200, {"status": "healthy"})


def test_health_is_open_where_a_token_is_needed(start_server: Callable[..., Server]) -> None:
    server = start_server(front=("--auth", "token"))

    assert server.get("/health").json == {"status": "healthy"}
    assert server.post("/reset", {}).status == 401


def test_credentials_in_the_url_are_the_token(start_server: Callable[..., Server]) -> None:
    server = start_server(front=("--auth", "token"))
    url = f"http://x:{server.token}@{server.host}"

    with generic(url) as env:
        assert env.step({"code": "6 * 7"}).observation["stdout"] == "42"
    first = FirstGeneration(url)
    first.reset()
    assert first.step("6 * 7")["observation"]["stdout"] == "42"
    with pytest.raises(ConnectionError):
        generic(f"http://{server.host}").connect()


# ---- /reset with {}, no body, and {"seed":1,"x":2}


@pytest.mark.parametrize("body", [b"{}", b"", b'{"seed": 1, "x": 2}'], ids=["{}", "none", "seed"])
def test_reset_takes(server: Server, body: bytes) -> None:
    answer = server.call("POST", "/reset", body, {"Content-Type": "application/json"})

    assert (answer.status, answer.json) == (200, START)


def test_reset_over_the_socket_takes_the_same(url: str) -> None:
    with Frames(url) as frames:
        for message in ({"type": "reset"}, {"type": "reset", "data": {"seed": 1, "x": 2}}):
            assert frames.ask(message) == {"type": "observation", "data": START}


# ---- gen A sequence over HTTP keeps variables, step_count 2, per-cookie isolation


def test_the_first_generation_keeps_its_variables(url: str) -> None:
    env = FirstGeneration(url)

    assert env.reset() == START
    assert env.step("x = 20")["observation"] == START["observation"]
    assert env.step("print(x + 1)")["observation"]["stdout"] == "21\n"

    state = env.state()
    assert state.keys() == {"episode_id", "step_count", "last_exit_code"}
    assert uuid.UUID(state["episode_id"]).version == 4
    assert (state["step_count"], state["last_exit_code"]) == (2, 0)


def test_reset_clears_and_begins_another_episode(url: str) -> None:
    env = FirstGeneration(url)
    env.reset()
    env.step("x = 1")
    before = env.state()

    env.reset()

    assert env.state() == {**env.state(), "step_count": 0, "last_exit_code": 0}
    assert env.state()["episode_id"] != before["episode_id"]
    assert "NameError" in env.step("x")["observation"]["stderr"]
    assert env.state()["last_exit_code"] == 1


def test_clients_with_cookies_have_environments_of_their_own(url: str) -> None:
    clients = [FirstGeneration(url) for _ in range(5)]
    for client in clients:  # all of them before any comes back with its cookie
        client.reset()
    for number, client in enumerate(clients):
        client.step(f"x = {number}")
    for number, client in enumerate(clients):
        assert client.step("x")["observation"]["stdout"] == str(number)
        assert client.state()["step_count"] == 2
    assert len({client.state()["episode_id"] for client in clients}) == 5


def test_a_client_without_cookies_keeps_its_variables(url: str) -> None:
    assert post(url, "/reset", {}).json() == START
    post(url, "/step", {"action": {"code": "x = 1"}})

    assert post(url, "/step", {"action": {"code": "x"}}).json()["observation"]["stdout"] == "1"
    assert requests.get(url + "/state", timeout=60).json()["step_count"] == 2


def test_a_client_without_cookies_never_meets_one_with(url: str) -> None:
    keeper = FirstGeneration(url)
    keeper.reset()
    keeper.step("secret = 1")

    seen = post(url, "/step", {"action": {"code": "secret"}}).json()

    assert "NameError" in seen["observation"]["stderr"]
    other = FirstGeneration(url)
    other.reset()
    post(url, "/step", {"action": {"code": "other = 1"}})  # before the owner of the cookie
    assert "NameError" in other.step("other")["observation"]["stderr"]


def test_steps_at_the_same_time_share_the_one_environment(url: str) -> None:
    post(url, "/reset", {})
    tasks = [
        Background(lambda: post(url, "/step", {"action": {"code": "1"}}).json()) for _ in range(8)
    ]

    assert all(task.result()["observation"]["stdout"] == "1" for task in tasks)
    assert requests.get(url + "/state", timeout=60).json()["step_count"] == 8


def test_a_cookie_that_nobody_knows_is_replaced(url: str) -> None:
    env = FirstGeneration(url)
    env.http.cookies.set("vitrine_env", "0" * 32)

    seen = env.step("x = 1")

    assert "note: " in seen["observation"]["stderr"] and seen["observation"]["exit_code"] == 0
    assert env.step("x")["observation"]["stdout"] == "1"
    assert env.state()["step_count"] == 2


def test_a_first_generation_reset_gives_the_episode_its_name(url: str) -> None:
    env = FirstGeneration(url)
    env.reset(episode_id="mine")

    assert env.state()["episode_id"] == "mine"


# ---- 422 shapes of 3.3; 404/405 JSON bodies

WRONG_STEPS = [
    ({}, "missing", ["body", "action"], "Field required"),
    ({"action": 1}, "dict_type", ["body", "action"], "Input should be a valid dictionary"),
    (
        {"action": {"code": ""}, "timeout_s": 0},
        "greater_than",
        ["body", "timeout_s"],
        "Input should be greater than 0",
    ),
    ({"action": {}}, "missing", ["code"], "Field required"),
    ({"action": {"code": 1}}, "string_type", ["code"], "Input should be a valid string"),
    (
        {"action": {"code": "", "x": 1}},
        "extra_forbidden",
        ["x"],
        "Extra inputs are not permitted",
    ),
    (b"{", "json_invalid", ["body", 1], "JSON decode error"),
]


@pytest.mark.parametrize("case", WRONG_STEPS, ids=[f"{c[1]}-{c[2][-1]}" for c in WRONG_STEPS])
def test_a_wrong_step_is_422(server: Server, case: tuple[Any, str, list[Any], str]) -> None:
    body, kind, where, message = case

    answer = server.post("/step", body)

    assert answer.status == 422
    assert answer.headers["Content-Type"] == "application/json"
    [item] = answer.json["detail"]
    assert (item["type"], item["loc"], item["msg"]) == (kind, where, message)
    assert "input" in item
    if kind == "greater_than":
        assert item["ctx"] == {"gt": 0.0}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"seed": -1}, "greater_than_equal"),
        ({"seed": "x"}, "int_parsing"),
        ({"seed": [1]}, "int_type"),
        ({"episode_id": "x" * 256}, "string_too_long"),
        ({"episode_id": 1}, "string_type"),
    ],
)
def test_a_wrong_reset_is_422(server: Server, body: Any, kind: str) -> None:
    answer = server.post("/reset", body)

    assert answer.status == 422
    assert [item["type"] for item in answer.json["detail"]] == [kind]


def test_what_is_wrong_is_not_sent_back_in_full(url: str) -> None:
    large = "x" * 3_000_000
    with Frames(url) as frames:
        for message in (
            {"type": large},
            {"type": "step", "data": {"code": 1, large: large}},
            {"type": "step", "data": {f"k{i}": 1 for i in range(100_000)}},
            {"type": "state", "data": {"x": large}},
            {"type": "mcp", "data": {"jsonrpc": "2.0", "method": large, "id": 1}},
        ):
            assert frames.ask(message)["type"] in ("error", "mcp")


def test_unknown_paths_and_wrong_verbs_are_answered_in_json(server: Server) -> None:
    for method, path, status in (
        ("GET", "/nothing-here", 404),
        ("GET", "/reset", 405),
        ("DELETE", "/state", 405),
    ):
        answer = server.call(method, path)
        assert answer.status == status
        assert isinstance(answer.json["detail"], str)


# ---- /ws reset/step/state/close; what keeps the socket open


@pytest.mark.parametrize("make", [generic, coding], ids=["GenericEnvClient", "CodingEnv"])
def test_an_episode_over_the_socket(url: str, make: Callable[..., Any]) -> None:
    def observed(result: Any) -> tuple[str, str, int]:
        seen = result.observation
        seen = seen if isinstance(seen, dict) else seen.model_dump()
        return seen["stdout"], seen["stderr"], seen["exit_code"]

    def action(code: str) -> Any:
        return CodeAction(code=code) if make is coding else {"code": code}

    with make(url) as env:
        start = env.reset()
        assert (observed(start), start.reward, start.done) == (("", "", 0), 0.0, False)
        assert observed(env.step(action("x = 20"))) == ("", "", 0)
        result = env.step(action("print('seen')\nx + 1"))
        assert (observed(result), result.reward, result.done) == (("seen\n21", "", 0), 0.1, False)
        failed = env.step(action("print('kept'); 1 / 0"))
        assert failed.observation is not None and observed(failed)[0] == "kept\n"
        assert "ZeroDivisionError" in observed(failed)[1] and observed(failed)[2] == 1
        state = env.state()
        state = state if isinstance(state, dict) else state.model_dump()
        assert (state["step_count"], state["last_exit_code"]) == (3, 1)
        assert uuid.UUID(state["episode_id"])
        env.reset(episode_id="mine")
        assert "NameError" in observed(env.step(action("x")))[1]


def test_step_before_reset_works_and_has_no_episode(url: str) -> None:
    with generic(url) as env:
        assert env.step({"code": "6 * 7"}).observation["stdout"] == "42"
        assert env.state() == {"episode_id": None, "step_count": 1, "last_exit_code": 0}


def test_the_helpers_of_the_stock_namespace_exist(url: str) -> None:
    with generic(url) as env:
        code = (
            "try:\n  1 / 0\nexcept Exception:\n  print(format_exc())\nprint(safe_json_dumps([1]))"
        )
        seen = env.step({"code": code}).observation
        assert "ZeroDivisionError" in seen["stdout"] and "[1]" in seen["stdout"]


def test_many_environments_at_once(url: str) -> None:
    async def one(number: int) -> str:
        async with GenericEnvClient(base_url=url) as env:
            await env.reset()
            await env.step({"code": f"x = {number}"})
            return str((await env.step({"code": "x"})).observation["stdout"])

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(one(number) for number in range(32)))

    assert asyncio.run(all_of_them()) == [str(number) for number in range(32)]


def test_close_ends_the_session_and_closes_with_1000(server: Server, url: str) -> None:
    before = set(server.listed())
    frames = Frames(url)
    frames.ask({"type": "reset"})
    assert set(server.listed()) - before

    frames.send({"type": "close"})

    with pytest.raises(websockets.exceptions.ConnectionClosedOK) as closed:
        frames.receive()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1000
    assert until(lambda: not set(server.listed()) - before, 1)


BAD_FRAMES = [
    ("{", "INVALID_JSON"),
    ("", "INVALID_JSON"),
    ("\x00", "INVALID_JSON"),
    ("{}", "UNKNOWN_TYPE"),
    ({"type": "nothing"}, "UNKNOWN_TYPE"),
    ({"type": 1}, "UNKNOWN_TYPE"),
    ({"type": ["step"]}, "UNKNOWN_TYPE"),
    ({"type": "state", "data": {}}, "VALIDATION_ERROR"),
    ({"type": "close", "data": {}}, "VALIDATION_ERROR"),
    ({"type": "step"}, "VALIDATION_ERROR"),
    ({"type": "step", "data": None}, "VALIDATION_ERROR"),
    ({"type": "step", "data": {}}, "VALIDATION_ERROR"),
    ({"type": "step", "data": {"code": None}}, "VALIDATION_ERROR"),
    ({"type": "step", "data": {"code": "1", "x": 1}}, "VALIDATION_ERROR"),
    ({"type": "step", "data": {"action": {"code": "1"}}}, "VALIDATION_ERROR"),
    ({"type": "step", "data": {"code": "1"}, "x": 1}, "VALIDATION_ERROR"),
    ({"type": "step", "data": {"code": "1", "timeout_s": -1}}, "VALIDATION_ERROR"),
    ({"type": "step", "data": {"type": "list_tools"}}, "VALIDATION_ERROR"),
    ({"type": "reset", "data": []}, "VALIDATION_ERROR"),
    ({"type": "reset", "data": {"seed": -1}}, "VALIDATION_ERROR"),
    ("[" * 100_000, "INVALID_JSON"),
    ('{"type":"step","data":{"code":"\\ud800"}}', "INVALID_JSON"),
]


@pytest.mark.parametrize("case", BAD_FRAMES, ids=[f"{str(c[0])[:40]!r}" for c in BAD_FRAMES])
def test_a_bad_frame_keeps_the_socket_open(url: str, case: tuple[Any, str]) -> None:
    message, code = case
    with Frames(url) as frames:
        frames.step("x = 1")

        answer = frames.ask(message)

        assert (answer["type"], answer["data"]["code"]) == ("error", code)
        assert answer["data"]["message"]
        if code == "VALIDATION_ERROR":
            assert answer["data"]["message"] == "Invalid message"
            for item in answer["data"]["errors"]:
                assert item.keys() >= {"type", "loc", "msg", "input"}
        if code == "UNKNOWN_TYPE":
            assert answer["data"]["message"].startswith("Unknown message type: ")
        assert frames.step("x")["stdout"] == "1"
        assert frames.ask({"type": "state"})["data"]["step_count"] == 2


@pytest.mark.parametrize("message", ["1", "[]", "null", '"step"', b'{"type":"state"}'])
def test_a_frame_that_is_no_message_ends_the_session(url: str, message: str | bytes) -> None:
    with Frames(url) as frames:
        answer = frames.ask(message)

        assert (answer["type"], answer["data"]["code"]) == ("error", "SESSION_ERROR")
        with pytest.raises(websockets.exceptions.ConnectionClosedOK):
            frames.receive()


def test_the_stock_client_raises_what_the_server_said(url: str) -> None:
    with generic(url) as env:
        with pytest.raises(RuntimeError, match=r"Invalid message \(code: VALIDATION_ERROR\)"):
            env.step({"code": 1})
        assert env.step({"code": "1"}).observation["stdout"] == "1"


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

    assert until(lambda: not set(server.listed()) - before, 1), "still there"


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


# ---- openenv validate --url


def test_openenv_validate_passes(url: str) -> None:
    program = Path(sys.executable).with_name("openenv")

    done = subprocess.run(
        [program, "validate", "--url", url],
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert report["passed"] and report["standard_profile"] == "openenv-http/1.x"
    assert all(criterion["passed"] for criterion in report["criteria"])


# ---- /mcp dialect; /schema, /metadata, /openapi.json shapes


def rpc(url: str, method: str, params: Any = None, **more: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, **more}
    answer = post(url, "/mcp", body if params is None else {**body, "params": params})
    assert answer.status_code == 200 and answer.headers["Content-Type"] == "application/json"
    seen = answer.json()
    assert seen["jsonrpc"] == "2.0"
    if "error" in seen:
        assert seen["error"].keys() == {"code", "message", "data"}
    return dict(seen)


def test_mcp_sessions_are_made_and_closed(server: Server, url: str) -> None:
    before = set(server.listed())
    made = rpc(url, "openenv/session/create")
    session = made["result"]["session_id"]
    assert made["id"] == 7 and set(server.listed()) - before

    for method in ("tools/list", "tools/call"):
        error = rpc(url, method, {"session_id": session, "name": "x"})["error"]
        assert (error["code"], error["message"]) == (-32603, "Environment does not support MCP")
    closed = rpc(url, "openenv/session/close", {"session_id": session})["result"]

    assert closed == {"session_id": session, "closed": True}
    assert until(lambda: not set(server.listed()) - before, 2)
    error = rpc(url, "openenv/session/close", {"session_id": session})["error"]
    assert (error["code"], error["message"]) == (-32602, f"Unknown session_id: {session}")
    assert rpc(url, "tools/list", {"session_id": session})["error"]["code"] == -32602


def test_an_mcp_session_is_no_cookie(url: str) -> None:
    session = rpc(url, "openenv/session/create")["result"]["session_id"]
    env = FirstGeneration(url)
    env.reset()
    cookie = env.http.cookies["vitrine_env"]

    assert rpc(url, "openenv/session/close", {"session_id": cookie})["error"]["code"] == -32602

    rpc(url, "openenv/session/close", {"session_id": session})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"{}", -32600),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","x":1}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"nothing"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', -32603),
    ],
)
def test_a_wrong_call_is_answered_in_json_rpc(server: Server, body: bytes, code: int) -> None:
    answer = server.post("/mcp", body)

    assert answer.status == 200
    assert answer.json["jsonrpc"] == "2.0" and answer.json["error"]["code"] == code
    assert "data" in answer.json["error"]


def test_mcp_over_sockets_is_the_same_dialect(url: str) -> None:
    call = {"jsonrpc": "2.0", "id": "a", "method": "tools/list"}
    with Frames(url, "/mcp") as frames:
        assert frames.ask("{")["error"]["code"] == -32700
        assert frames.ask(call)["error"]["code"] == -32603
    with Frames(url) as frames:
        answer = frames.ask({"type": "mcp", "data": call})
        assert (answer["type"], answer["data"]["id"]) == ("mcp", "a")
        assert answer["data"]["error"]["code"] == -32603


def test_schema_is_that_of_the_stock_models(url: str) -> None:
    schema = requests.get(url + "/schema", timeout=60).json()

    action, observation, state = schema["action"], schema["observation"], schema["state"]
    assert (action["title"], action["additionalProperties"]) == ("CodeAction", False)
    assert action["required"] == ["code"]
    assert action["properties"]["code"]["type"] == "string"
    assert action["properties"]["metadata"]["additionalProperties"] is True
    assert (observation["title"], observation["additionalProperties"]) == ("CodeObservation", False)
    assert "required" not in observation
    kinds = [one["type"] for one in observation["properties"]["reward"]["anyOf"]]
    assert kinds == ["boolean", "integer", "number", "null"]
    for name, default in (("stdout", ""), ("stderr", ""), ("exit_code", 0), ("done", False)):
        assert observation["properties"][name]["default"] == default
    assert state["additionalProperties"] is True
    assert state["properties"].keys() == {"episode_id", "step_count"}


def test_metadata_has_the_stock_keys(url: str) -> None:
    wanted = {
        "name": "PythonCodeActEnv",
        "description": "PythonCodeActEnv environment",
        "readme_content": None,
        "version": "1.0.0",
        "author": None,
        "documentation_url": None,
    }

    assert requests.get(url + "/metadata", timeout=60).json() == wanted
    assert requests.get(url + "/web/metadata", timeout=60).json()["name"] == "coding_env"


def test_openapi_lists_the_paths(url: str) -> None:
    described = requests.get(url + "/openapi.json", timeout=60).json()

    assert described["info"]["version"].startswith("1.")
    assert described["paths"].keys() >= {"/reset", "/step", "/state", "/health", "/schema", "/mcp"}


# ---- the page


def test_the_page_has_one_environment_of_its_own(url: str) -> None:
    page = requests.get(url + "/web", timeout=60)
    assert page.status_code == 200 and page.history[0].status_code == 307
    assert page.url.endswith("/web/") and "text/html" in page.headers["Content-Type"]
    assert post(url, "/web/reset", {}).json() == START
    post(url, "/web/step", {"action": {"code": "x = 1"}})
    with Frames(url, "/ws/ui") as frames:
        update = frames.receive()
        assert update["type"] == "state_update" and update["episode_state"]["step_count"] == 1
        assert (
            post(url, "/web/step", {"action": {"code": "x"}}).json()["observation"]["stdout"] == "1"
        )
        assert frames.receive()["episode_state"]["step_count"] == 2
    assert requests.get(url + "/web/state", timeout=60).json()["step_count"] == 2


# ---- seeds


SEEDED = "import random, numpy\nprint(random.random(), numpy.random.rand(), hash('x'))"


def test_a_seed_makes_episodes_repeat(url: str) -> None:
    with generic(url) as one, generic(url) as other:
        one.reset(seed=7)
        other.reset(seed=7)
        first = one.step({"code": SEEDED}).observation["stdout"]
        assert other.step({"code": SEEDED}).observation["stdout"] == first
        one.reset(seed=7)
        assert one.step({"code": SEEDED}).observation["stdout"] == first
        one.reset(seed=8)
        eight = one.step({"code": SEEDED}).observation["stdout"]
        assert eight.split()[:2] != first.split()[:2]
        one.reset()
        assert one.step({"code": SEEDED}).observation["stdout"] not in (first, eight)
    over_http = FirstGeneration(url)
    over_http.reset(seed=7)
    assert over_http.step(SEEDED)["observation"]["stdout"] == first


@pytest.mark.parametrize("seed", [0, 2**32, 2**63, 2**64 - 1, 2**70, "7", 7.0])
def test_seeds_of_any_size_are_taken(url: str, seed: Any) -> None:
    code = "import random, numpy\nprint(random.random(), numpy.random.rand())"
    with generic(url) as env:
        seen = []
        for _ in range(2):
            env.reset(seed=seed)
            seen.append(env.step({"code": code}).observation)
        assert seen[0] == seen[1] and seen[0]["exit_code"] == 0


def test_code_that_reads_finds_the_end_of_its_input(url: str) -> None:
    with generic(url) as env:
        seen = env.step({"code": "input()"}).observation
        assert seen["exit_code"] == 1 and "EOFError" in seen["stderr"]


# ---- deaths

DEATHS = {
    "exit": ("import os; os._exit(3)", 3),
    "signal": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137),
    "memory": ("x = bytearray(4 << 30)\nfor i in range(0, len(x), 4096): x[i] = 1", None),
}


@pytest.mark.parametrize("case", DEATHS.values(), ids=DEATHS.keys())
def test_an_interpreter_that_died_is_replaced_and_the_step_says_so(
    url: str, case: tuple[str, int | None]
) -> None:
    code, exit_code = case
    with generic(url) as env:
        env.reset(seed=7)
        episode = env.state()["episode_id"]

        seen = env.step({"code": code}).observation

        assert seen["exit_code"] != 0 and exit_code in (None, seen["exit_code"])
        assert seen["stderr"]
        after = env.step({"code": SEEDED}).observation
        assert after["exit_code"] == 0 and after["stderr"] == ""
        state = env.state()
        assert (state["episode_id"], state["step_count"]) == (episode, 2)
        env.reset(seed=7)
        assert env.step({"code": SEEDED}).observation["stdout"] == after["stdout"]


def test_an_interpreter_that_died_between_steps_is_replaced(url: str) -> None:
    code = "import os, threading\nthreading.Timer(0.2, os._exit, (3,)).start()\nx = 1"
    with generic(url) as env:
        env.step({"code": code})
        time.sleep(0.6)
        seen = env.step({"code": "print('x' in globals())"}).observation
        assert (seen["stdout"], seen["exit_code"]) == ("False\n", 0)
        assert "replaced" in seen["stderr"]
        assert env.step({"code": "1"}).observation["stderr"] == ""


def test_exit_codes_are_those_of_the_code(url: str) -> None:
    with generic(url) as env:
        assert env.step({"code": "import sys; sys.exit(5)"}).observation["exit_code"] == 5
        assert env.step({"code": "def f(:"}).observation["exit_code"] == 1
        assert "SyntaxError" in env.step({"code": "def f(:"}).observation["stderr"]


# ---- the front is killed


def test_clients_go_on_after_the_front_was_killed(start_server: Callable[..., Server]) -> None:
    server = start_server()
    url = f"http://{server.host}"
    first = FirstGeneration(url)
    first.reset()
    first.step("x = 1")
    env = generic(url)
    env.connect()
    env.reset()
    running = Background(lambda: env.step({"code": "import time; time.sleep(30)"}))
    time.sleep(0.3)

    server.kill_front()

    with pytest.raises((ConnectionError, websockets.exceptions.ConnectionClosed)):
        running.result()
    with generic(url) as again:
        again.reset()
        assert again.step({"code": "print(1)"}).reward == 0.1
    seen = first.step("print('x' in globals())")
    assert seen["observation"]["stdout"] == "False\n"
    assert "replaced" in seen["observation"]["stderr"]
    assert "note" not in first.step("1")["observation"]["stderr"]
    assert until(lambda: len(server.listed()) == 1, 5), "what the dead front served is still there"


def test_typed_async_clients_work_as_they_come(url: str) -> None:
    async def episode() -> Any:
        async with CodingEnv(base_url=url) as env:
            await env.reset(seed=1)
            return await env.step(CodeAction(code="print('hello')"))

    result = asyncio.run(episode())

    assert (result.observation.stdout, result.reward, result.done) == ("hello\n", 0.1, False)


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
def test_the_description_is_a_page_that_loads_nothing_from_elsewhere(url: str, path: str) -> None:
    answer = requests.get(url + path, timeout=10)

    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "/openapi.json" in answer.text
    assert "http://" not in answer.text and "https://" not in answer.text


def test_the_first_reset_of_a_socket_passes_over_nothing(url: str) -> None:
    with Frames(url) as socket:
        first = socket.ask({"type": "reset", "data": {"executor_backend": "restrictedpython"}})
        refused = socket.step("import subprocess")
    with Frames(url) as socket:
        noted = socket.ask({"type": "reset", "data": {"additional_imports": ["dataclass"]}})
    with Frames(url) as socket:
        unknown = socket.ask({"type": "reset", "data": {"environment": "nosuch"}})
        plain = socket.ask({"type": "reset", "data": {"environment": "default"}})

    assert first["type"] == plain["type"] == "observation", (first, plain)
    assert "may not be imported" in refused["stderr"], refused
    assert noted["data"]["observation"]["metadata"]["notes"] == ["dataclass -> dataclasses"], noted
    assert unknown["data"]["code"] == "VALIDATION_ERROR", unknown
    assert "there is no environment" in json.dumps(unknown), unknown


def test_what_the_ancestors_took_is_never_passed_over(url: str) -> None:
    refused = requests.post(url + "/reset", json={"executor_backend": "docker"}, timeout=10)
    wrong = requests.post(url + "/reset", json={"additional_imports": 7}, timeout=10)
    noted = requests.post(url + "/reset", json={"additional_imports": ["dataclass"]}, timeout=60)
    unknown = requests.post(url + "/reset", json={"additional_imports": ["nosuchmod"]}, timeout=60)
    plain = requests.post(url + "/reset", json={"executor_backend": "native"}, timeout=10)

    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"] == ["body", "executor_backend"]
    assert wrong.status_code == 422
    assert wrong.json()["detail"][0]["loc"] == ["body", "additional_imports"]
    assert noted.json()["observation"]["metadata"]["notes"] == ["dataclass -> dataclasses"]
    assert unknown.status_code >= 400 and "nosuchmod" in unknown.json()["detail"]
    assert "metadata" not in plain.json()["observation"]
