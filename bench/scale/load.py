# SPDX-License-Identifier: Apache-2.0
"""Requests without a pause, from one thread, on kept connections."""

from __future__ import annotations

import json
import selectors
import socket
import time
from types import TracebackType


class Load:
    """`clients` connections; each sends its next request when it has the last one's answer."""

    def __init__(self, port: int, clients: int, code: str, one_shot: bool) -> None:
        self._port = port
        self._selector = selectors.DefaultSelector()
        self._sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(clients)]
        self._requests: dict[socket.socket, bytes] = {}
        self._sessions: list[str] = []
        for one in self._sockets:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            path = "/v1/run"
            if not one_shot:
                one.sendall(self._request("/v1/sessions", {}))
                self._sessions.append(json.loads(self._body(one))["id"])
                path = f"/v1/sessions/{self._sessions[-1]}/exec"
            self._requests[one] = self._request(path, {"code": code})
            self._selector.register(one, selectors.EVENT_READ)

    def __enter__(self) -> Load:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._sessions and kind is None:
            one = self._sockets[0]
            for session in self._sessions:
                one.sendall(self._request(f"/v1/sessions/{session}", None, "DELETE"))
                self._body(one)
        for one in self._sockets:
            one.close()

    def run(self, seconds: float) -> int:
        """How many requests were answered; all of them with the outcome `ok`."""
        done, end = 0, time.perf_counter() + seconds
        for one in self._sockets:
            one.sendall(self._requests[one])
        waiting = len(self._sockets)
        while waiting:
            for key, _ in self._selector.select():
                one = key.fileobj
                assert isinstance(one, socket.socket)
                if b'"outcome":"ok"' not in self._body(one):
                    raise RuntimeError("an execution failed")
                done += 1
                if time.perf_counter() < end:
                    one.sendall(self._requests[one])
                else:
                    waiting -= 1
        return done

    def _request(self, path: str, body: object, method: str = "POST") -> bytes:
        text = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
        return f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text

    def _body(self, one: socket.socket) -> bytes:
        data = one.recv(65536)
        while b"\r\n\r\n" not in data:
            data += self._more(one)
        head, _, body = data.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError((head + body)[:500].decode(errors="replace"))
        _, _, rest = head.lower().partition(b"content-length: ")
        size = int(rest.split(b"\r\n")[0] or 0)
        while len(body) < size:
            body += self._more(one)
        return body

    @staticmethod
    def _more(one: socket.socket) -> bytes:
        data = one.recv(65536)
        if not data:
            raise RuntimeError("the server closed the connection")
        return data
