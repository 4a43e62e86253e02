# SPDX-License-Identifier: Apache-2.0
"""An answer of the server, and the shape that every error has."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from typing import Any

PROBLEM_FIELDS = {"type", "title", "status", "code", "detail", "remedy"}


class Answer:
    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def is_problem(self, status: int | tuple[int, ...], code: str | None = None) -> Answer:
        """Checks the shape that every error has."""
        wanted = status if isinstance(status, tuple) else (status,)
        assert self.status in wanted, self
        assert self.headers["Content-Type"] == "application/problem+json", self
        problem = self.json
        assert problem.keys() >= PROBLEM_FIELDS, self
        assert problem["status"] == self.status, self
        for field in ("type", "title", "code", "detail"):
            assert isinstance(problem[field], str) and problem[field], (field, self)
        assert isinstance(problem["remedy"], str) and problem["remedy"], f"no remedy: {self}"
        for secret in ("/work", "/tmp", "/root", "/home/", "build/"):
            assert secret not in self.body.decode(), f"tells a host path: {self}"
        if code is not None:
            assert problem["code"] == code, self
        return self

    def __repr__(self) -> str:
        return f"<{self.status} {self.body[:600]!r}>"


def parse_answer(raw: bytes) -> Answer:
    """The first answer in what was received."""
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    assert lines[0].startswith("HTTP/1.1 "), raw[:200]
    headers = http.client.HTTPMessage()
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name] = value.strip()
    size = headers["Content-Length"]
    return Answer(int(lines[0].split()[1]), headers, body if size is None else body[: int(size)])


def read_all(client: socket.socket) -> bytes:
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)
