# SPDX-License-Identifier: Apache-2.0
"""What the hostile tests share: raw requests, WebSocket frames, and a health check."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
import time
from typing import Any

from served import Background, Server, Session, read_all, within

ANSWER = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class HealthCheck:
    """How the server was before a test, and whether it still is after it."""

    def __init__(self, server: Server, neighbour: Session, slow: list[Background]) -> None:
        self.server = server
        self.neighbour = neighbour
        self.slow = slow
        self.front = server.front()
        self.sessions = len(server.listed())
        self.before = self._held()

    def _held(self) -> int:
        """Descriptors of the front without the bodies that are slow on purpose."""
        pid = self.front
        try:
            count = len(os.listdir(f"/proc/{pid}/fd"))
        except PermissionError:  # started without root: it cannot be looked into
            return 0
        return count - sum(not one.is_over() for one in self.slow)

    def check(self) -> None:
        begun = time.monotonic()
        assert self.server.get("/health").body == b'{"status":"healthy"}'
        assert self.server.front() == self.front, "the front died and was replaced"
        assert self.neighbour.value("mark") == "'still here'"
        assert time.monotonic() - begun < 10, "it answers, but too late"
        assert within(lambda: len(self.server.listed()) == self.sessions, 20), "sessions are left"
        assert within(lambda: self._held() <= self.before, 20), (
            f"descriptors: {self.before} before, {self._held()} after"
        )


def send(server: Server, request: bytes, timeout: float = 20) -> bytes:
    """All that comes back until the server closes; more than the request is not said."""
    with server.socket(timeout) as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
        return read_all(client)


def statuses(answer: bytes) -> list[int]:
    return [int(one) for one in ANSWER.findall(answer)]


def head(server: Server, *lines: str, start: str = "GET /health HTTP/1.1") -> bytes:
    all_lines = [start, f"Host: {server.host}", *lines, "", ""]
    return "\r\n".join(all_lines).encode("latin-1")


def reset(client: socket.socket) -> None:
    """Closes it so that the other side gets a reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def stalled_body(server: Server, path: str) -> tuple[bytes, float]:
    begun = time.monotonic()
    request = head(server, "Content-Length: 100", start=f"POST {path} HTTP/1.1")
    with server.socket(90) as client:
        client.sendall(request + b'{"code": ')
        return read_all(client), time.monotonic() - begun


def dripping_body(server: Server, path: str) -> float:
    """Seconds until a body that comes byte by byte is given up."""
    begun = time.monotonic()
    request = head(server, "Content-Length: 100000", start=f"POST {path} HTTP/1.1")
    with server.socket(1) as client, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        client.sendall(request)
        while time.monotonic() - begun < 90:
            client.sendall(b" ")
            try:
                if not client.recv(1000):
                    break
            except TimeoutError:
                continue
    return time.monotonic() - begun


class Web:
    """A WebSocket client that does what it likes."""

    def __init__(self, server: Server, path: str = "/ws") -> None:
        self.socket = server.socket(20)
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        lines = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", key]
        self.socket.sendall(head(server, *lines, start=f"GET {path} HTTP/1.1"))
        answer = b""
        while b"\r\n\r\n" not in answer:
            part = self.socket.recv(4096)
            assert part, answer
            answer += part
        assert answer.startswith(b"HTTP/1.1 101 "), answer
        self.left = answer.partition(b"\r\n\r\n")[2]

    def __enter__(self) -> Web:
        return self

    def __exit__(self, *_: Any) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def receive(self, size: int) -> bytes:
        while len(self.left) < size:
            part = self.socket.recv(1 << 16)
            if not part:
                raise EOFError
            self.left += part
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def frame(self) -> tuple[int, bytes]:
        first, second = self.receive(2)
        size = second & 127
        if size == 126:
            size = struct.unpack(">H", self.receive(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.receive(8))[0]
        return first & 15, self.receive(size)

    def ending(self) -> int | None:
        """The code it is closed with; None if it just ends."""
        try:
            while True:
                kind, data = self.frame()
                if kind == 8:
                    return int(struct.unpack(">H", data[:2])[0]) if len(data) >= 2 else 1005
        except (EOFError, ConnectionResetError):
            return None


def frame(kind: int, data: bytes = b"", *, fin: bool = True, mask: bool = True) -> bytes:
    size = len(data)
    out = bytes([(0x80 if fin else 0) | kind])
    flag = 0x80 if mask else 0
    if size < 126:
        out += bytes([flag | size])
    elif size < 65536:
        out += bytes([flag | 126]) + struct.pack(">H", size)
    else:
        out += bytes([flag | 127]) + struct.pack(">Q", size)
    return out + (b"\0\0\0\0" if mask else b"") + data
