# SPDX-License-Identifier: Apache-2.0
"""The clients that must work unchanged: OpenEnv's own, a typed one as coding_env has it, and the
first generation, which spoke plain HTTP."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import requests
from openenv.core import EnvClient, GenericEnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.types import Action, Observation, State
from websockets.sync.client import ClientConnection, connect


class CodeAction(Action):
    code: str


class CodeObservation(Observation):
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


class CodeState(State):
    last_exit_code: int = 0


class CodingEnv(EnvClient[CodeAction, CodeObservation, CodeState]):
    """As envs/coding_env/client.py: its models refuse keys that they do not know."""

    def _step_payload(self, action: CodeAction) -> dict[str, Any]:
        return {"code": action.code}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[CodeObservation]:
        return StepResult(
            observation=CodeObservation(**payload["observation"]),
            reward=payload.get("reward"),
            done=bool(payload.get("done", False)),
        )

    def _parse_state(self, payload: dict[str, Any]) -> CodeState:
        return CodeState(
            episode_id=payload.get("episode_id"),
            step_count=payload.get("step_count", 0),
            last_exit_code=payload.get("last_exit_code", 0),
        )


def generic(url: str, **more: Any) -> Any:
    """The stock client of today, without async."""
    return GenericEnvClient(base_url=url, **more).sync()


def coding(url: str, **more: Any) -> Any:
    return CodingEnv(base_url=url, **more).sync()


class FirstGeneration:
    """What core.http_env_client.HTTPEnvClient sent in 2025: section 7 of the reference."""

    def __init__(self, url: str, timeout: float = 15.0) -> None:
        self.url = url
        self.timeout = timeout
        self.http = requests.Session()
        self.http.trust_env = False

    def reset(self, **body: Any) -> dict[str, Any]:
        return self._post("/reset", body)

    def step(self, code: str) -> dict[str, Any]:
        body = {"action": {"code": code}, "timeout_s": int(self.timeout)}
        return self._post("/step", body)

    def state(self) -> dict[str, Any]:
        answer = self.http.get(f"{self.url}/state", timeout=self.timeout)
        answer.raise_for_status()
        return dict(answer.json())

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.http.post(f"{self.url}{path}", json=body, timeout=self.timeout)
        answer.raise_for_status()
        seen = answer.json()
        assert seen.keys() == {"observation", "reward", "done"}
        CodeObservation(**seen["observation"])
        return dict(seen)


class Frames:
    """A WebSocket frame by frame, for what no stock client sends."""

    def __init__(self, url: str, path: str = "/ws", **more: Any) -> None:
        more.setdefault("max_size", 1 << 20)  # what clients of 0.2.1 take
        self.stack = contextlib.ExitStack()
        self.socket: ClientConnection = self.stack.enter_context(
            connect(url.replace("http://", "ws://") + path, proxy=None, **more)
        )

    def ask(self, message: Any) -> dict[str, Any]:
        """`message`: text and bytes as they are, anything else as JSON."""
        self.send(message)
        return self.receive()

    def send(self, message: Any) -> None:
        self.socket.send(message if isinstance(message, str | bytes) else json.dumps(message))

    def receive(self, timeout: float = 60) -> dict[str, Any]:
        return dict(json.loads(self.socket.recv(timeout)))

    def step(self, code: str, **more: Any) -> dict[str, Any]:
        answer = self.ask({"type": "step", "data": {"code": code, **more}})
        assert answer["type"] == "observation", answer
        return dict(answer["data"]["observation"])

    def __enter__(self) -> Frames:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()


START = {"observation": {"stdout": "", "stderr": "", "exit_code": 0}, "reward": 0.0, "done": False}


def post(url: str, path: str, body: Any = None, **more: Any) -> requests.Response:
    """A client that keeps no cookies."""
    return requests.post(url + path, json=body, timeout=60, **more)
