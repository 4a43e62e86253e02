# SPDX-License-Identifier: Apache-2.0
"""The OpenEnv adapter with the real openenv-core: against its own reference server, which checks
that we speak the protocol, and against ours, as soon as that speaks it too."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from openenv.core.env_client import EnvClient
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation

import vitrine
from vitrine.openenv import (
    CodeAction,
    CodeObservation,
    CodeState,
    CodingEnv,
    VectorCodingEnv,
    _with_token,
)

# ---- against the reference server of openenv-core


class Reference(Environment):  # type: ignore[misc]
    """Says what it was given. The code is not run."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = CodeState(step_count=0)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Any:
        self._state = CodeState(episode_id=episode_id, step_count=0)
        return CodeObservation(stdout=str({"seed": seed, **kwargs}), reward=0.0, done=False)

    def step(self, action: Action, timeout_s: float | None = None, **kwargs: Any) -> Observation:
        self._state.step_count += 1
        self._state.last_exit_code = 1
        return CodeObservation(stdout=str(action), exit_code=1, reward=0.1, done=False)

    @property
    def state(self) -> CodeState:
        return self._state


@pytest.fixture(scope="module")
def reference() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = create_fastapi_app(Reference, CodeAction, CodeObservation, max_concurrent_envs=100)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


def test_the_classes_are_openenvs() -> None:
    assert issubclass(CodingEnv, EnvClient)
    assert issubclass(CodeAction, Action) and issubclass(CodeObservation, Observation)
    assert CodeAction(code="1").capture_screenshot is False
    assert CodeObservation().screenshot is None and CodeObservation().image is None
    with pytest.raises(ValueError):
        CodeAction(code="1", no_such_field=1)


def test_what_is_sent() -> None:
    env = CodingEnv("http://127.0.0.1:1")

    assert env._step_payload(CodeAction(code="1")) == {"code": "1"}, "stock servers refuse more"
    asked = {"code": "1", "capture_screenshot": True, "render_timeout": 2.0, "timeout_s": 5.0}
    assert env._step_payload(CodeAction(**asked)) == asked


def test_what_is_understood() -> None:
    env = CodingEnv("http://127.0.0.1:1")
    plain = {"stdout": "a", "stderr": "", "exit_code": 0}

    result = env._parse_result({"observation": {**plain, "new": 1}, "reward": 0.1, "done": False})
    shot = env._parse_result({"observation": {**plain, "screenshot": "AAAA"}})
    hidden = env._parse_result({"observation": {**plain, "metadata": {"screenshot": "BBBB"}}})

    assert (result.observation.stdout, result.reward, result.done) == ("a", 0.1, False)
    assert (shot.observation.screenshot, hidden.observation.screenshot) == ("AAAA", "BBBB")
    assert env._parse_state({"step_count": 2, "last_exit_code": 1}).last_exit_code == 1


async def test_an_episode_on_the_reference_server(reference: str) -> None:
    async with CodingEnv(
        reference, additional_imports=["numpy"], executor_backend="restrictedpython", timeout_s=20
    ) as env:
        first = await env.reset(seed=7, episode_id="e")
        assert "'seed': 7" in first.observation.stdout and first.reward == 0.0
        assert "'additional_imports': ['numpy']" in first.observation.stdout
        assert "'executor_backend': 'restrictedpython'" in first.observation.stdout
        second = await env.step(CodeAction(code="x", capture_screenshot=True))
        assert "capture_screenshot=True" in second.observation.stdout
        await env.step("y")
        state = await env.state()

    assert (second.reward, second.observation.exit_code) == (0.1, 1)
    assert (state.episode_id, state.step_count, state.last_exit_code) == ("e", 2, 1)


def test_synchronously_on_the_reference_server(reference: str) -> None:
    with CodingEnv(reference).sync() as env:
        env.reset()
        assert "code='1'" in env.step(CodeAction(code="1")).observation.stdout


async def test_many_at_once_on_the_reference_server(reference: str) -> None:
    async with VectorCodingEnv(8, reference) as envs:
        firsts = await envs.reset(seeds=list(range(8)))
        results = await envs.step([None, *(f"code {i}" for i in range(1, 8))])
        states = await envs.state()

    assert "'seed': 7" in firsts[7].observation.stdout
    assert results[0] is None and results[7] is not None
    assert "code 7" in results[7].observation.stdout
    assert [state.step_count for state in states] == [0] + [1] * 7
    with pytest.raises(ValueError, match="one for each"):
        await envs.step(["1"])


async def test_a_container_gets_its_settings(reference: str) -> None:
    class Provider:
        started: Any = None
        waited: Any = None
        stopped = False

        def start_container(self, image: str, **kwargs: Any) -> str:
            self.started = (image, kwargs)
            return reference

        def wait_for_ready(self, url: str, timeout_s: float = 30.0) -> None:
            self.waited = timeout_s

        def stop_container(self) -> None:
            self.stopped = True

    provider = Provider()
    env = await CodingEnv.from_docker_image(
        "coding-env:latest",
        provider,
        additional_imports=["numpy", "cv2"],
        executor_backend="smolagents",
        timeout_s=120.0,
        env_vars={"A": "1"},
    )
    await env.reset()
    await env.close()

    variables = {"A": "1", "ADDITIONAL_IMPORTS": "numpy,cv2", "EXECUTOR_BACKEND": "smolagents"}
    assert provider.started == ("coding-env:latest", {"env_vars": variables})
    assert provider.waited == 120.0 and provider.stopped


def test_addresses_and_tokens(server: vitrine.Server) -> None:
    assert _with_token("http://host:1", "a/b") == "http://token:a%2Fb@host:1"
    assert _with_token("ws://host:1", None) == "http://host:1"
    assert server.url.removeprefix("http://") in _with_token(None, None)


# ---- against our server


async def test_an_episode(openenv_surface: str) -> None:
    async with CodingEnv(openenv_surface) as env:
        first = await env.reset(episode_id="e")
        assert (first.observation.stdout, first.reward) == ("", 0.0)
        await env.step(CodeAction(code="x = 20"))
        good = await env.step(CodeAction(code="print(x + 22)"))
        bad = await env.step(CodeAction(code="print('kept')\n1/0"))
        state = await env.state()
        await env.reset()
        fresh = await env.step(CodeAction(code="x"))

    assert good.observation.stdout == "42\n" and good.observation.exit_code == 0
    assert good.reward == pytest.approx(0.1)
    assert bad.observation.exit_code == 1 and "ZeroDivisionError" in bad.observation.stderr
    assert (state.episode_id, state.step_count, state.last_exit_code) == ("e", 3, 1)
    assert "NameError" in fresh.observation.stderr


async def test_an_action_has_a_limit_of_its_own(openenv_surface: str) -> None:
    async with CodingEnv(openenv_surface, timeout_s=30) as env:
        await env.reset()
        late = await env.step(CodeAction(code="while True: pass", timeout_s=0.5))
        after = await env.step("print(1)")

    assert late.observation.exit_code != 0
    assert after.observation.stdout == "1\n"


async def test_64_at_once(openenv_surface: str) -> None:
    async with VectorCodingEnv(64, openenv_surface) as envs:
        await envs.reset()
        await envs.step([f"x = {number}" for number in range(64)])
        results = await envs.step(["print(x)"] * 64)

    assert [int(one.observation.stdout) for one in results if one] == list(range(64))


def test_a_local_server(openenv_surface: str) -> None:
    with CodingEnv.local().sync() as env:
        env.reset()
        assert env.step(CodeAction(code="print(6 * 7)")).observation.stdout == "42\n"


async def test_a_screenshot(openenv_surface: str) -> None:
    async with CodingEnv(openenv_surface) as env:
        await env.reset()
        action = CodeAction(code="import tkinter; tkinter.Tk()", capture_screenshot=True)
        observation = (await env.step(action)).observation

    assert observation.image.size == (1024, 768)
