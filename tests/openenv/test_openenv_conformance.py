# SPDX-License-Identifier: Apache-2.0
"""The conformance checklist of the wire reference, line by line, with OpenEnv's stock clients."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import requests
import websockets.exceptions
from openenv.core import GenericEnvClient
from served import Background, Server, until

from clients import START, CodeAction, FirstGeneration, Frames, coding, generic, post

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
