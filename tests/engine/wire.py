# SPDX-License-Identifier: Apache-2.0
"""The frames of the session socket and the messages of the control socket, written independently of
the C++ code from docs/session-socket.md, so that each checks the other."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

HEADER = struct.Struct("<HBBB3xQII")
MAGIC, VERSION = 0x5456, 1
MORE, REST, REPLAY = 1, 2, 4
MAX_PAYLOAD = 64 * 1024 - HEADER.size

SETUP, EXECUTE, INPUT, RESUME = 1, 2, 3, 4
READY, RESULT, ERROR, NOTE, INPUT_REQUEST, STACK, FINISHED = range(64, 71)
CLAIMS = ("ok", "exception", "policy", "interrupted")

VARIANTS = {"bare": 0, "loaded": 1, "seeded": 2}
LIFETIMES = {"session": 0, "one_shot": 1}
SOURCES = ("warm", "forked", "built")
CAUSES = ("exited", "signalled", "oom", "timeout", "killed")
CODES = (
    "invalid_argument",
    "not_found",
    "conflict",
    "over_limit",
    "timed_out",
    "unsupported",
    "unavailable",
    "internal",
)
(
    CREATE,
    END,
    INTERRUPT,
    ASK_STACK,
    WATCH,
    UNWATCH,
    KILL,
    RESET,
    LIST,
    ATTACH,
    ASK_USAGE,
    INFO,
) = range(12)


@dataclass
class Limits:
    memory_bytes: int = 512 << 20
    cpu_permille: int = 1000
    processes: int = 64
    disk_bytes: int = 256 << 20
    output_bytes: int = 1 << 20
    exec_ms: int = 30_000
    idle_ms: int = 1_800_000

    def encode(self) -> bytes:
        return struct.pack(
            "<QIIQQQQ",
            self.memory_bytes,
            self.cpu_permille,
            self.processes,
            self.disk_bytes,
            self.output_bytes,
            self.exec_ms,
            self.idle_ms,
        )


def blob(data: bytes | str) -> bytes:
    raw = data.encode() if isinstance(data, str) else data
    return struct.pack("<I", len(raw)) + raw


def environment(variables: dict[str, str] | None) -> bytes:
    variables = variables or {}
    parts = [struct.pack("<H", len(variables))]
    for name, value in sorted(variables.items()):
        parts += [blob(name), blob(value)]
    return b"".join(parts)


def frames(kind: int, execution: int, payload: bytes) -> list[bytes]:
    """One message of the client as datagrams."""
    out = []
    for sequence, at in enumerate(range(0, max(len(payload), 1), MAX_PAYLOAD)):
        part = payload[at : at + MAX_PAYLOAD]
        flags = (MORE if at + MAX_PAYLOAD < len(payload) else 0) | (REST if at else 0)
        out.append(HEADER.pack(MAGIC, VERSION, kind, flags, execution, sequence, len(part)) + part)
    return out


def execute_payload(
    code: bytes | str,
    stdin: bytes | None = None,
    interactive: bool = False,
    env: dict[str, str] | None = None,
    result_limit: int = 1 << 20,
) -> bytes:
    mode = 2 if interactive else 1 if stdin is not None else 0
    return (
        blob(code)
        + bytes([mode])
        + blob(stdin or b"")
        + environment(env)
        + struct.pack("<Q", result_limit)
    )


@dataclass
class Reader:
    data: bytes
    at: int = 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return int(value)

    def blob(self) -> bytes:
        size = self.number("I")
        value = self.data[self.at : self.at + size]
        assert len(value) == size, "truncated"
        self.at += size
        return value

    def text(self) -> str:
        return self.blob().decode()

    def end(self) -> None:
        assert self.at == len(self.data), "left over"


@dataclass
class Message:
    kind: int
    execution: int
    sequence: int
    payload: bytes
    replay: bool = False
    body: dict[str, Any] = field(default_factory=dict)


def decode_message(message: Message) -> Message:
    reader = Reader(message.payload)
    body: dict[str, Any] = {}
    if message.kind == READY:
        body = {"python": reader.text(), "last_execution": reader.number("Q")}
    elif message.kind == RESULT:
        body = {"kind": reader.number("B"), "display_id": reader.text()}
        body["data"] = {}
        for _ in range(reader.number("H")):
            mime = reader.text()
            body["data"][mime] = reader.blob()
        body["metadata"] = reader.text()
    elif message.kind == ERROR:
        body = {"name": reader.text(), "value": reader.text(), "traceback": reader.text()}
    elif message.kind == INPUT_REQUEST:
        body = {"prompt": reader.text(), "password": bool(reader.number("B"))}
    elif message.kind == FINISHED:
        body = {"claim": CLAIMS[reader.number("B")], "exit_code": reader.number("B")}
    elif message.kind in (NOTE, STACK):
        body = {"text": message.payload.decode()}
        reader.at = len(message.payload)
    else:
        raise AssertionError(f"unexpected message {message.kind}")
    reader.end()
    message.body = body
    return message
