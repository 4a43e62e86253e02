# SPDX-License-Identifier: Apache-2.0
"""A client on one kept connection, and the work that it makes with the files of a session."""

from __future__ import annotations

import http.client
import json
from typing import Any


class Client:
    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def call(self, method: str, path: str, body: object = None) -> bytes:
        """The response's body; bytes are sent as they are, all else as JSON."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body)
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        self._connection.request(method, path, data, {"Content-Type": kind} if data else {})
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:500]!r}")
        return content

    def create(self) -> str:
        return str(json.loads(self.call("POST", "/v1/sessions", {}))["id"])

    def delete(self, session: str) -> None:
        self.call("DELETE", f"/v1/sessions/{session}")

    def execute(self, session: str, code: str) -> None:
        ran: dict[str, Any] = json.loads(
            self.call("POST", f"/v1/sessions/{session}/exec", {"code": code})
        )
        if ran["outcome"] != "ok":
            raise RuntimeError(f"an execution failed: {ran}")


class SessionFiles:
    """A session with a directory of many files."""

    ENTRIES = 10_000
    MEGABYTES = 64

    def __init__(self, port: int) -> None:
        self._client = Client(port)
        self._session = self._client.create()
        self._large = b"x" * (self.MEGABYTES << 20)
        self._make_tree("listed")

    def list_tree(self) -> None:
        self._client.call("GET", f"/v1/sessions/{self._session}/files?path=listed")

    def write_large(self) -> None:
        self._client.call("PUT", f"/v1/sessions/{self._session}/files/large", self._large)

    def make_and_remove_tree(self) -> None:
        self._make_tree("removed")
        self._client.call("DELETE", f"/v1/sessions/{self._session}/files/removed")

    def _make_tree(self, name: str) -> None:
        code = f"import os\nos.makedirs({name!r})\n"
        code += f"for i in range({self.ENTRIES}): open(f'{name}/{{i:05}}', 'w').close()"
        self._client.execute(self._session, code)
