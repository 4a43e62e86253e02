# SPDX-License-Identifier: Apache-2.0
"""The peer: OpenEnv's own server under uvicorn, with an environment around the executor that its
coding environment uses (smolagents). That environment itself is in no package index, so this one
does the same work: a new executor at reset, one run per step, output and exit code back."""

from __future__ import annotations

import json
import sys
import uuid
from typing import Any

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from smolagents import LocalPythonExecutor


class CodeAction(Action):
    code: str


class CodeObservation(Observation):
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


class CodingEnvironment(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self.begin()

    def begin(self) -> None:
        self.executor = LocalPythonExecutor(additional_authorized_imports=["json"])
        self.executor.send_tools({})
        self.counters = State(episode_id=str(uuid.uuid4()), step_count=0)

    def reset(self, **_: Any) -> CodeObservation:
        self.begin()
        return CodeObservation(reward=0.0)

    def step(self, action: CodeAction, **_: Any) -> CodeObservation:
        self.counters.step_count += 1
        try:
            done = self.executor(action.code)
        except Exception as error:
            return CodeObservation(stderr=str(error), exit_code=1, reward=0.0)
        value = "" if done.output is None else json.dumps(done.output, default=repr)
        return CodeObservation(stdout=done.logs + value, reward=0.0)

    @property
    def state(self) -> State:
        return self.counters


if __name__ == "__main__":
    app = create_fastapi_app(
        CodingEnvironment, CodeAction, CodeObservation, max_concurrent_envs=2000
    )
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", ws_max_queue=64)
