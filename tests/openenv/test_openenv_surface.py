# SPDX-License-Identifier: Apache-2.0
"""OpenEnv's checklist, continued: validation, MCP, schemas, seeds, deaths, restarts."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
import websockets.exceptions
from answer_schemas import Description
from served import Background, Server, until, within

from clients import START, CodeAction, CodingEnv, FirstGeneration, Frames, generic, post

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
    assert within(lambda: len(server.listed()) == 1, 5), "what the dead front served is still there"


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


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/reset", {"seed": 7, "usage": True}, 200),
        ("POST", "/reset", {"seed": "x"}, 422),
        ("POST", "/step", {"action": {"code": "1 / 0", "metadata": {"results": True}}}, 200),
        ("POST", "/step", {"action": {"code": 1, "more": 2}}, 422),
        ("GET", "/state", None, 200),
        ("POST", "/web/reset", {}, 200),
        ("POST", "/web/step", {"action": {"code": "1"}}, 200),
        ("GET", "/web/state", None, 200),
        ("GET", "/metadata", None, 200),
        ("GET", "/web/metadata", None, 200),
        ("GET", "/schema", None, 200),
        ("POST", "/mcp", {"jsonrpc": "2.0", "method": "tools/list", "id": 1}, 200),
    ],
)
def test_an_answer_is_as_described(
    server: Server, method: str, path: str, body: dict[str, Any] | None, status: int
) -> None:
    described = Description(server.get("/openapi.json").json)

    answer = server.call(method, path, body)

    assert answer.status == status, answer
    schema = described.schema_of(method, path, status, "application/json")
    assert schema is not None
    assert described.mistakes(answer.json, schema) == []
