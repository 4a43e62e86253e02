# SPDX-License-Identifier: Apache-2.0
"""Hundreds of clients that come in the same moment, as training runs do: none is refused."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator

import pytest
from http_answer import parse_answer
from served import Server, Session, within

RESET = json.dumps({"type": "reset", "data": {}}).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Shared by this file only: while a burst is served, others would wait for long."""
    with Server().must_end_cleanly() as one:
        yield one


# More than any socket between our processes holds.
@pytest.fixture(params=[500, pytest.param(1000, marks=pytest.mark.long)])
def crowd(server: Server, request: pytest.FixtureRequest) -> Iterator[list[socket.socket]]:
    """Clients that are connected, and have not said anything."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(server.socket(120)) for _ in range(request.param)]


class Reader:
    """What one client is sent, piece by piece."""

    def __init__(self, client: socket.socket) -> None:
        self.client = client
        self.left = b""

    def _more(self) -> None:
        part = self.client.recv(1 << 16)
        assert part, "the server hung up"
        self.left += part

    def head(self) -> bytes:
        while b"\r\n\r\n" not in self.left:
            self._more()
        head, _, self.left = self.left.partition(b"\r\n\r\n")
        return head

    def take(self, size: int) -> bytes:
        while len(self.left) < size:
            self._more()
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def text_frame(self) -> str:
        """The next whole message of a WebSocket; the server sends ours in one frame."""
        first, second = self.take(2)
        assert first == 0x81, first
        size = second & 127
        if size == 126:
            size = int.from_bytes(self.take(2), "big")
        elif size == 127:
            size = int.from_bytes(self.take(8), "big")
        return self.take(size).decode()


@pytest.mark.serial
def test_a_burst_of_sessions_is_created(server: Server, crowd: list[socket.socket]) -> None:
    body = b"{}"
    request = (
        f"POST /v1/sessions HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body

    for client in crowd:
        client.sendall(request)
    answers = []
    for client in crowd:
        raw = b""
        while part := client.recv(1 << 16):
            raw += part
        answers.append(parse_answer(raw))

    refused = [answer for answer in answers if answer.status != 201]
    assert not refused, f"{len(refused)} of {len(crowd)} refused: {refused[0]}"
    sessions = [Session(server, answer.json) for answer in answers]
    assert len({session.id for session in sessions}) == len(crowd)
    for session in (sessions[0], sessions[len(crowd) // 2], sessions[-1]):
        assert session.value("6 * 7") == "42"
    for session in sessions:
        assert session.delete().status == 204


@pytest.mark.serial
def test_a_burst_of_environments_is_opened_and_reset(
    server: Server, crowd: list[socket.socket]
) -> None:
    upgrade = (
        f"GET /ws HTTP/1.1\r\nHost: {server.host}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    ).encode()
    message = bytes([0x81, 0x80 | len(RESET), 0, 0, 0, 0]) + RESET  # masked with zeros
    readers = [Reader(client) for client in crowd]
    before = server.metrics()["vitrine_sessions"]

    for client in crowd:
        client.sendall(upgrade)
    heads = [reader.head() for reader in readers]
    assert all(head.startswith(b"HTTP/1.1 101 ") for head in heads), heads[-1]
    for client in crowd:
        client.sendall(message)
    answers = [json.loads(reader.text_frame()) for reader in readers]

    refused = [answer for answer in answers if answer["type"] != "observation"]
    assert not refused, f"{len(refused)} of {len(crowd)} refused: {refused[0]}"
    for client in crowd:
        client.close()
    assert within(lambda: server.metrics()["vitrine_sessions"] <= before), "their sessions stay"
