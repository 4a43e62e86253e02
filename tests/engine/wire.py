# SPDX-License-Identifier: Apache-2.0
"""The frames of the session socket and the messages of the control socket, written independently of
the C++ code from docs/session-socket.md, so that each checks the other."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

HEADER = struct.Struct("<HBBB3sQII")
MAGIC, VERSION = 0x5456, 1
MORE, REST, REPLAY = 1, 2, 4
MAX_FRAME = 64 * 1024
MAX_TOGETHER = 16  # frames in a datagram of a worker
MAX_PAYLOAD = MAX_FRAME - HEADER.size

SETUP, EXECUTE, INPUT, RESUME, CAPTURED, PACKAGE_REPLY = 1, 2, 3, 4, 5, 6
READY, RESULT, ERROR, NOTE, INPUT_REQUEST, STACK, FINISHED, PAINTED, LINE = range(64, 73)
PACKAGE_REQUEST, START_FAILED = 73, 74
CLAIMS = ("ok", "exception", "policy", "interrupted")

# The most bytes of a whole message; one frame for every type that is not named.
MAX_MESSAGE = {
    SETUP: 1 << 20,
    EXECUTE: 16 << 20,
    INPUT: 1 << 20,
    PACKAGE_REPLY: 1 << 20,
    RESULT: 32 << 20,
    ERROR: 1 << 20,
    NOTE: 4096,
    CAPTURED: 0,
    PAINTED: 0,
    LINE: 4,
}

VARIANTS = {"bare": 0, "loaded": 1, "seeded": 2}
LIFETIMES = {"session": 0, "one_shot": 1, "service": 2}
ISOLATIONS = ("process", "wasm", "vm")
POLICIES = {"native": 0, "restricted": 1, "smolagents": 2}
SOURCES = ("warm", "forked", "built")
ROLES = (
    "session_socket",
    "stdout_pipe",
    "stderr_pipe",
    "cpu_meter",
    "memory_meter",
    "egress_log",
    "egress_counters",
    "framebuffer",
    "screen_helper",
)
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
FREEZE, END_LOOP, OPEN_DISPLAY, START_ENCODER, ATTACH_ENCODER = 17, 18, 19, 20, 22


class ProtocolError(Exception):
    """The peer sent what no honest peer sends."""


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


def display(width: int = 1024, height: int = 768) -> bytes:
    return struct.pack("<II", width, height)


def blob(data: bytes | str) -> bytes:
    raw = data.encode() if isinstance(data, str) else data
    return struct.pack("<I", len(raw)) + raw


def rules(network: Sequence[str]) -> bytes:
    """The hosts a session may reach; none = it has no network."""
    if not network:
        return b"\0"
    listed = struct.pack("<BI", 1, len(network)) + b"".join(blob(rule) for rule in network)
    return listed + struct.pack("<BH", 0, 0)


def unadorned() -> bytes:
    """The end of a create that asks for nothing but its limits."""
    policy, isolation = POLICIES["native"], ISOLATIONS.index("process")
    no_layers = 0
    return rules(()) + display() + blob("") + bytes([policy, isolation, no_layers])


def environment(variables: dict[str, str] | None) -> bytes:
    variables = variables or {}
    parts = [struct.pack("<H", len(variables))]
    for name, value in sorted(variables.items()):
        parts += [blob(name), blob(value)]
    return b"".join(parts)


def frame(
    kind: int, execution: int, payload: bytes = b"", sequence: int = 0, flags: int = 0
) -> bytes:
    fields = (MAGIC, VERSION, kind, flags, b"\0\0\0", execution, sequence, len(payload))
    return HEADER.pack(*fields) + payload


def frames(kind: int, execution: int, payload: bytes) -> list[bytes]:
    """One message as datagrams. ValueError for one that the peer would refuse for its length."""
    if len(payload) > MAX_MESSAGE.get(kind, MAX_PAYLOAD):
        raise ValueError(f"a message of {len(payload)} bytes is too long")
    out = []
    for sequence, at in enumerate(range(0, max(len(payload), 1), MAX_PAYLOAD)):
        part = payload[at : at + MAX_PAYLOAD]
        flags = (MORE if at + MAX_PAYLOAD < len(payload) else 0) | (REST if at else 0)
        out.append(frame(kind, execution, part, sequence, flags))
    return out


def setup_payload(
    env: dict[str, str] | None = None,
    seed: int | None = None,
    policy: int = 0,
    imports: tuple[str, ...] = (),
    packages_first: bool = False,
) -> bytes:
    return (
        environment(env)
        + struct.pack("<BQ", int(seed is not None), seed or 0)
        + struct.pack("<BH", policy, len(imports))
        + b"".join(blob(name) for name in imports)
        + struct.pack("<B", packages_first)
    )


def execute_payload(
    code: bytes | str,
    stdin: bytes | None = None,
    interactive: bool = False,
    env: dict[str, str] | None = None,
    result_limit: int = 1 << 20,
    render_ms: int = 0,
    line_ms: int = 0,
) -> bytes:
    mode = 2 if interactive else 1 if stdin is not None else 0
    return (
        blob(code)
        + bytes([mode])
        + blob(stdin or b"")
        + environment(env)
        + struct.pack("<QII", result_limit, render_ms, line_ms)
    )


def package_reply_payload(
    added: Sequence[str] = (), code: str = "", detail: str = "", remedy: str = ""
) -> bytes:
    listed = struct.pack("<H", len(added)) + b"".join(blob(pin) for pin in added)
    return listed + blob(code) + blob(detail) + blob(remedy)


@dataclass
class Reader:
    data: bytes
    at: int = 0

    def number(self, form: str) -> int:
        try:
            (value,) = struct.unpack_from("<" + form, self.data, self.at)
        except struct.error as error:
            raise ProtocolError("truncated") from error
        self.at += struct.calcsize("<" + form)
        return int(value)

    def blob(self) -> bytes:
        size = self.number("I")
        value = self.data[self.at : self.at + size]
        if len(value) != size:
            raise ProtocolError("truncated")
        self.at += size
        return value

    def text(self) -> str:
        try:
            return self.blob().decode()
        except UnicodeDecodeError as error:
            raise ProtocolError("not UTF-8") from error

    def choice(self, values: tuple[str, ...]) -> str:
        number = self.number("B")
        if number >= len(values):
            raise ProtocolError("out of range")
        return values[number]

    def end(self) -> None:
        if self.at != len(self.data):
            raise ProtocolError("left over")


@dataclass
class Opened:
    """The reply to create, reset and attach; the descriptors by what they are."""

    session: int
    source: str
    overdue: int
    fds: dict[str, int]


def opened(reader: Reader, fds: list[int]) -> Opened:
    session, source = reader.number("Q"), reader.choice(SOURCES)
    overdue = reader.number("Q")
    return Opened(session, source, overdue, roles(reader, fds))


def roles(reader: Reader, fds: list[int]) -> dict[str, int]:
    names = [reader.choice(ROLES) for _ in range(reader.number("B"))]
    if len(set(names)) != len(names) or len(names) != len(fds):
        raise ProtocolError(f"{len(fds)} descriptors named {names}")
    return dict(zip(names, fds, strict=True))


@dataclass
class Frame:
    kind: int
    flags: int
    execution: int
    sequence: int
    payload: bytes


def decode_frames(datagram: bytes) -> list[Frame]:
    """What a worker sent at once."""
    if not HEADER.size <= len(datagram) <= MAX_FRAME:
        raise ProtocolError("a datagram of an impossible size")
    frames = []
    while datagram:
        frames.append(_first_frame(datagram))
        datagram = datagram[HEADER.size + len(frames[-1].payload) :]
    if len(frames) > MAX_TOGETHER:
        raise ProtocolError("a datagram of too many frames")
    return frames


def _first_frame(datagram: bytes) -> Frame:
    if len(datagram) < HEADER.size:
        raise ProtocolError("a frame shorter than its header")
    magic, version, kind, flags, zero, execution, sequence, length = HEADER.unpack_from(datagram)
    if (magic, version, zero) != (MAGIC, VERSION, b"\0\0\0") or flags & ~(MORE | REST | REPLAY):
        raise ProtocolError("not a frame")
    if length > len(datagram) - HEADER.size:
        raise ProtocolError("a frame lies about its length")
    if not READY <= kind <= PACKAGE_REQUEST:
        raise ProtocolError("a frame of a type that no worker sends")
    return Frame(kind, flags, execution, sequence, datagram[HEADER.size : HEADER.size + length])


@dataclass
class Message:
    kind: int
    execution: int
    sequence: int
    payload: bytes
    replay: bool = False
    body: dict[str, Any] = field(default_factory=dict)


class Assembler:
    """Joins the frames of a worker into messages; ProtocolError as soon as it lies."""

    def __init__(self, adopted: bool = False) -> None:
        self.execution, self.expected = 0, 0
        self.any_sequence, self.skipping = adopted, False
        self.partial: Message | None = None
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, frame: Frame) -> Message | None:
        more, rest = bool(frame.flags & MORE), bool(frame.flags & REST)
        whole = Message(
            frame.kind,
            frame.execution,
            frame.sequence,
            frame.payload,
            bool(frame.flags & REPLAY),
        )
        if frame.kind in (STACK, LINE, READY) and (more or rest):
            raise ProtocolError("a stack, line or ready frame is always whole")
        if frame.kind in (STACK, LINE):
            return decode_message(whole)
        self._check_order(frame, rest)
        if frame.kind == READY:
            return decode_message(whole)
        if rest != (self.partial is not None or self.skipping):
            raise ProtocolError("a message starts or goes on wrongly")
        if self.skipping:
            self.skipping = more
            return None
        if self.partial is None:
            self.partial, self.parts, self.size = whole, [], 0
        if self.partial.kind != frame.kind:
            raise ProtocolError("frames of two messages are mixed")
        self.parts.append(frame.payload)
        self.size += len(frame.payload)
        if self.size > MAX_MESSAGE.get(frame.kind, MAX_PAYLOAD):
            raise ProtocolError("a message is too long")
        if more:
            return None
        message, self.partial = self.partial, None
        message.payload = b"".join(self.parts)
        return decode_message(message)

    def _check_order(self, frame: Frame, rest: bool) -> None:
        if frame.kind == READY:
            if self.partial is not None or self.skipping:
                raise ProtocolError("a message was cut off by a ready frame")
            self.execution, self.expected, self.any_sequence = frame.execution, 0, False
            return
        if self.any_sequence:
            self.execution, self.expected = frame.execution, frame.sequence
            self.skipping, self.any_sequence = rest, False
        elif frame.execution != self.execution:
            if self.partial is not None or self.skipping:
                raise ProtocolError("frames of two executions are mixed")
            self.execution, self.expected = frame.execution, 0
        if frame.sequence != self.expected:
            raise ProtocolError(f"frame {frame.sequence} came instead of {self.expected}")
        self.expected += 1


def decode_message(message: Message) -> Message:
    reader = Reader(message.payload)
    body: dict[str, Any] = {}
    if message.kind == READY:
        body = {"python": reader.text(), "last_execution": reader.number("Q")}
        body["token"] = reader.number("Q")
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
        body = {"claim": reader.choice(CLAIMS), "exit_code": reader.number("B")}
    elif message.kind == NOTE:
        try:
            body = {"text": message.payload.decode()}
        except UnicodeDecodeError as error:
            raise ProtocolError("not UTF-8") from error
        reader.at = len(message.payload)
    elif message.kind == STACK:
        body = {"text": message.payload.decode("utf-8", "replace")}  # may be cut anywhere
        reader.at = len(message.payload)
    elif message.kind == PACKAGE_REQUEST:
        body = {"packages": [reader.text() for _ in range(reader.number("H"))]}
    elif message.kind == LINE:
        body = {"number": reader.number("I")}
    elif message.kind != PAINTED:  # which is empty
        raise ProtocolError(f"unexpected message {message.kind}")
    reader.end()
    message.body = body
    return message
