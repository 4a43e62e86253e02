# SPDX-License-Identifier: Apache-2.0
"""A server with several tokens, and each of them as a client."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from served import Answer, Server

FRONT_UID = 536936448
MISSING = "0" * 32
SECRETS = {name: f"{name}-secret-0123456789abcdef" for name in ("a", "b", "few", "small", "slow")}
TOKENS: dict[str, Any] = {
    "tokens": [
        {"name": "a", "token": SECRETS["a"]},
        {"name": "b", "sha256": hashlib.sha256(SECRETS["b"].encode()).hexdigest()},
        {"name": "few", "token": SECRETS["few"], "sessions": 2},
        {"name": "small", "token": SECRETS["small"], "memory_mb": 1024},
        {"name": "slow", "token": SECRETS["slow"], "executions_per_minute": 5},
    ]
}


def directory_with(tokens: Any, mode: int = 0o600) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="vitrine-tokens-"))
    directory.chmod(0o755)
    file = directory / "tokens.json"
    file.write_text(tokens if isinstance(tokens, str) else json.dumps(tokens))
    file.chmod(mode)
    if os.geteuid() == 0:
        os.chown(file, FRONT_UID, FRONT_UID)
    return directory


class Caller:
    """One identity at a server."""

    def __init__(self, server: Server, token: str | None) -> None:
        self.server = server
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        return self.server.call(method, path, body, headers={**self.headers, **headers})

    def create(self, **fields: Any) -> str:
        answer = self.call("POST", "/v1/sessions", fields)
        assert answer.status == 201, answer
        return str(answer.json["id"])

    def exec(self, session: str, code: str) -> Answer:
        return self.call("POST", f"/v1/sessions/{session}/exec", {"code": code})

    def listed(self) -> list[str]:
        answer = self.call("GET", "/v1/sessions?limit=1000")
        assert answer.status == 200, answer
        return [one["id"] for one in answer.json["sessions"]]

    def delete(self, session: str) -> int:
        return self.call("DELETE", f"/v1/sessions/{session}").status

    def info(self) -> dict[str, Any]:
        return dict(self.call("GET", "/v1/info").json)


class Tenants:
    def __init__(self, *front: str) -> None:
        self.directory = directory_with(TOKENS)
        file = str(self.directory / "tokens.json")
        options = ("--tokens", file, *front)
        self.server = Server(directory=self.directory, front=options)
        self.owner = Caller(self.server, self.server.token)
        self.nobody = Caller(self.server, None)
        self.a, self.b, self.few, self.small, self.slow = (
            Caller(self.server, SECRETS[name]) for name in SECRETS
        )

    def end(self) -> None:
        self.server.end()
        shutil.rmtree(self.directory, ignore_errors=True)
