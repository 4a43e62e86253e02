# SPDX-License-Identifier: Apache-2.0
"""WebSockets that break the protocol, or keep to it too eagerly."""

from __future__ import annotations

import contextlib
import json
import struct

import pytest
from hostile_attacks import Web, frame, head, reset, send, statuses
from sanitizer_marks import judges_memory
from served import Server, until

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
UPGRADE = ("Upgrade: websocket", "Connection: Upgrade")
STEP = json.dumps({"type": "step", "data": {"code": "print(6 * 7)"}}).encode()


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((*UPGRADE, KEY), id="no version"),
        pytest.param((*UPGRADE, KEY, "Sec-WebSocket-Version: 12"), id="old version"),
        pytest.param((*UPGRADE, KEY, "Sec-WebSocket-Version: 13x"), id="odd version"),
        pytest.param((*UPGRADE, "Sec-WebSocket-Version: 13"), id="no key"),
        pytest.param(
            (*UPGRADE, "Sec-WebSocket-Key: ", "Sec-WebSocket-Version: 13"), id="empty key"
        ),
        pytest.param(
            (*UPGRADE, "Sec-WebSocket-Key: " + "x" * 5000, "Sec-WebSocket-Version: 13"),
            id="long key",
        ),
        pytest.param(("Upgrade: h2c", "Connection: Upgrade", KEY), id="another protocol"),
        pytest.param(("Upgrade: websocket", KEY, "Sec-WebSocket-Version: 13"), id="no Connection"),
        pytest.param(("Connection: close",), id="none at all"),
    ],
)
def test_a_bad_handshake_is_refused(victim: Server, lines: tuple[str, ...]) -> None:
    for path in ("/ws", "/mcp", "/ws/ui"):
        answer = send(
            victim, head(victim, "Connection: close", *lines, start=f"GET {path} HTTP/1.1")
        )
        assert len(statuses(answer)) == 1 and statuses(answer)[0] in (400, 426), answer[:300]


def test_frames_before_the_answer_are_refused(victim: Server) -> None:
    lines = (*UPGRADE, KEY, "Sec-WebSocket-Version: 13")
    answer = send(victim, head(victim, *lines, start="GET /ws HTTP/1.1") + frame(TEXT, STEP))
    assert statuses(answer) == [426], answer[:300]


def test_an_upgrade_elsewhere_is_an_ordinary_request(victim: Server) -> None:
    lines = (*UPGRADE, KEY, "Sec-WebSocket-Version: 13")
    with victim.socket(20) as client:
        client.sendall(head(victim, *lines))
        assert statuses(client.recv(4096)) == [200]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(frame(TEXT, b"{}", mask=False), {1002}, id="not masked"),
        pytest.param(bytes([0xC1, 0x80, 0, 0, 0, 0]), {1002}, id="reserved bit"),
        pytest.param(frame(3, b"x"), {1002}, id="reserved type"),
        pytest.param(frame(11), {1002}, id="reserved control"),
        pytest.param(frame(0, b"x"), {1002}, id="rest of nothing"),
        pytest.param(frame(TEXT, b"a", fin=False) + frame(TEXT, b"b"), {1002}, id="two at once"),
        pytest.param(frame(PING, b"x" * 126), {1002}, id="large ping"),
        pytest.param(frame(PING, b"x", fin=False), {1002}, id="ping in parts"),
        pytest.param(frame(CLOSE, b"x"), {1002}, id="close with one byte"),
        pytest.param(frame(CLOSE, struct.pack(">H", 1005)), {1002}, id="close with a bad code"),
        pytest.param(frame(TEXT, b"\xff\xfe"), {1007, 1002}, id="no UTF-8"),
        pytest.param(frame(CLOSE, b"\x03\xe8\xff"), {1007, 1002}, id="close, no UTF-8"),
        pytest.param(bytes([0x81, 0xFF]) + struct.pack(">Q", 1 << 62), {1009, 1002}, id="huge"),
        pytest.param(bytes([0x81, 0xFF]) + struct.pack(">Q", 1 << 63), {1009, 1002}, id="negative"),
        pytest.param(bytes([0x81, 0xFF]) + struct.pack(">Q", 21 << 20), {1009}, id="21 MiB"),
        pytest.param(bytes([0x81, 0xFE]) + struct.pack(">H", 5), {1002}, id="size in long form"),
    ],
)
def test_a_frame_that_breaks_the_rules_ends_the_socket(
    victim: Server, data: bytes, code: set[int]
) -> None:
    with Web(victim) as web:
        web.send(data + b"\0" * 16)

        assert web.ending() in code | {None}


@judges_memory
def test_a_flood_of_fragments_ends_at_the_limit(victim: Server) -> None:
    before = victim.resident_kb()
    with Web(victim) as web:
        web.send(frame(TEXT, b"x", fin=False))
        for _ in range(25):
            web.send(frame(0, b"x" * (1 << 20), fin=False))

        assert web.ending() in (1009, None)
    assert until(lambda: victim.resident_kb() - before < 64 * 1024, 10)


def test_a_flood_of_small_fragments_and_pings_is_served_like_others(victim: Server) -> None:
    with Web(victim) as web:
        web.send(frame(TEXT, STEP[:1], fin=False))
        for byte in STEP[1:-1]:
            web.send((frame(0, bytes([byte]), fin=False) + frame(0, b"", fin=False)) * 1)
            web.send(frame(PING, b"p") * 100)
            assert victim.get("/health").status == 200
        web.send(frame(0, STEP[-1:]))
        kinds: list[int] = []
        while True:
            kind, data = web.frame()
            kinds.append(kind)
            if kind == TEXT:
                break
        assert json.loads(data)["data"]["observation"]["stdout"] == "42\n", data
        assert set(kinds[:-1]) == {PONG}


def test_pings_that_nobody_reads_the_answers_of_are_not_kept(victim: Server) -> None:
    before = victim.resident_kb()
    with Web(victim) as web:
        web.socket.settimeout(1)
        with contextlib.suppress(TimeoutError):
            for _ in range(60):
                web.send(frame(PING, b"x" * 125) * 1000)
        assert victim.get("/health").status == 200
        assert victim.resident_kb() - before < 32 * 1024
        reset(web.socket)


def test_messages_that_nobody_waits_for_are_held_back(victim: Server) -> None:
    before = victim.resident_kb()
    slow = json.dumps({"type": "step", "data": {"code": "import time; time.sleep(2)"}}).encode()
    with Web(victim) as web:
        web.send(frame(TEXT, slow))
        web.socket.settimeout(1)
        with contextlib.suppress(TimeoutError):
            for _ in range(60):
                web.send(frame(TEXT, b" " * (1 << 20)))
        assert victim.resident_kb() - before < 96 * 1024
        reset(web.socket)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"type": "step"}',
        b'{"type": 5}',
        b'{"type": "reset", "x": 1}',
        b"[" * 5000,
        b'{"type": "step", "data": {"code": 5}}',
        b'{"type": "\\ud800"}',
    ],
)
def test_messages_that_are_none_are_answered(victim: Server, message: bytes) -> None:
    with Web(victim) as web:
        web.send(frame(TEXT, message))

        kind, data = web.frame()

        assert kind == TEXT and json.loads(data)["type"] == "error", data


@pytest.mark.parametrize("how", ["close", "reset"])
def test_who_leaves_a_socket_leaves_no_session(victim: Server, how: str) -> None:
    sockets = [Web(victim) for _ in range(10)]
    slow = json.dumps({"type": "step", "data": {"code": "import time; time.sleep(60)"}}).encode()
    for n, web in enumerate(sockets):
        if n % 2:
            web.send(frame(TEXT, slow))
        if n % 3 == 0:
            web.send(frame(TEXT, STEP[:10], fin=False))
        if how == "reset":
            reset(web.socket)
        else:
            web.socket.close()


def test_many_handshakes_that_vanish(victim: Server) -> None:
    lines = (*UPGRADE, KEY, "Sec-WebSocket-Version: 13")
    for n in range(40):
        client = victim.socket(20)
        client.sendall(head(victim, *lines, start="GET /ws HTTP/1.1"))
        if n % 2:
            reset(client)
        else:
            client.close()
