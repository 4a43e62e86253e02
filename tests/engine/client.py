# SPDX-License-Identifier: Apache-2.0
"""A small client of the keeper: enough to drive sessions in tests, blocking and simple."""

from __future__ import annotations

import fcntl
import json
import os
import select
import socket
import struct
import termios
import time
from dataclasses import dataclass, field
from typing import Any

import wire


class KeeperError(Exception):
    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(f"{code}: {message} ({remedy})")
        self.code, self.message, self.remedy = code, message, remedy


@dataclass
class Execution:
    """What an execution came to. `death` is the keeper's word, everything else the worker's."""

    id: int
    stdout: bytes = b""
    stderr: bytes = b""
    messages: list[wire.Message] = field(default_factory=list)
    claim: str | None = None
    exit_code: int | None = None
    timed_out: bool = False
    death: tuple[str, int] | None = None
    seconds: float = 0.0

    def bodies(self, kind: int) -> list[dict[str, Any]]:
        return [m.body for m in self.messages if m.kind == kind]

    @property
    def results(self) -> list[dict[str, bytes]]:
        return [b["data"] for b in self.bodies(wire.RESULT)]

    @property
    def texts(self) -> list[str]:
        return [r.get("text/plain", b"").decode() for r in self.results]

    @property
    def error(self) -> dict[str, str] | None:
        errors = self.bodies(wire.ERROR)
        return errors[0] if errors else None

    @property
    def notes(self) -> list[str]:
        return [b["text"] for b in self.bodies(wire.NOTE)]

    @property
    def stacks(self) -> list[str]:
        return [b["text"] for b in self.bodies(wire.STACK)]

    @property
    def outcome(self) -> str:
        """The table of DESIGN section 3, as the front will apply it."""
        if self.death is not None:
            cause = self.death[0]
            return {"oom": "oom", "timeout": "timeout", "killed": "killed"}.get(cause, "crashed")
        if self.claim == "interrupted" and self.timed_out:
            return "timeout"
        return str(self.claim)


class Keeper:
    def __init__(self, path: str, timeout: float = 30.0) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(timeout)
        self.socket.connect(path)
        self.number = 0
        self.events: list[tuple[str, int, Any]] = []
        self.replies: dict[int, tuple[bytes, list[int]]] = {}

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def fileno(self) -> int:
        return self.socket.fileno()

    def post(self, verb: int, body: bytes = b"", number: int = 0) -> None:
        self.socket.send(struct.pack("<BI", verb, number) + body)

    def call(self, verb: int, body: bytes = b"") -> tuple[wire.Reader, list[int]]:
        number = self.start(verb, body)
        return self.finish(number)

    def start(self, verb: int, body: bytes = b"") -> int:
        self.number += 1
        self.post(verb, body, self.number)
        return self.number

    def finish(self, number: int) -> tuple[wire.Reader, list[int]]:
        while number not in self.replies:
            self.pump()
        data, fds = self.replies.pop(number)
        reader = wire.Reader(data)
        kind = reader.number("B")
        if kind == 0:
            code = wire.CODES[reader.number("B")]
            raise KeeperError(code, reader.text(), reader.text())
        return reader, fds

    def pump(self) -> None:
        """Reads one packet from the keeper."""
        data, fds, _, _ = socket.recv_fds(self.socket, 64 * 1024, 16)
        if not data:
            raise EOFError("the keeper is gone")
        reader = wire.Reader(data)
        kind = reader.number("B")
        if kind == 1:
            number = reader.number("I")
            self.replies[number] = (data[reader.at :], list(fds))
            return
        event = reader.number("B")
        session = reader.number("Q")
        if event == 0:
            cause = wire.CAUSES[reader.number("B")]
            self.events.append(("died", session, (cause, reader.number("i"))))
        else:
            self.events.append(("timed_out", session, reader.number("Q")))

    def pump_ready(self) -> None:
        while select.select([self.socket], [], [], 0)[0]:
            self.pump()

    def create(
        self,
        variant: str = "loaded",
        lifetime: str = "session",
        limits: wire.Limits | None = None,
        env: dict[str, str] | None = None,
        seed: int | None = None,
    ) -> Session:
        body = bytes([wire.VARIANTS[variant], wire.LIFETIMES[lifetime]])
        reader, fds = self.call(wire.CREATE, body + (limits or wire.Limits()).encode())
        session = Session(self, reader.number("Q"), fds)
        session.source = wire.SOURCES[reader.number("B")]
        if env or seed is not None:
            session.setup(env, seed)
        return session

    def attach(self, session: int) -> Session:
        reader, fds = self.call(wire.ATTACH, struct.pack("<Q", session))
        return Session(self, reader.number("Q"), fds)

    def list(self) -> dict[int, tuple[bool, int]]:
        reader, _ = self.call(wire.LIST)
        found = {}
        for _ in range(reader.number("I")):
            session = reader.number("Q")
            found[session] = (bool(reader.number("B")), reader.number("Q"))
        return found

    def info(self) -> dict[str, Any]:
        reader, _ = self.call(wire.INFO)
        return json.loads(reader.text())  # type: ignore[no-any-return]


class Session:
    source = ""

    def __init__(self, keeper: Keeper, id: int, fds: list[int]) -> None:
        self.keeper, self.id = keeper, id
        self.take(fds)
        self.execution = 0
        self.partial: wire.Message | None = None

    def take(self, fds: list[int]) -> None:
        assert len(fds) == 3, fds
        self.channel = socket.socket(fileno=fds[0])
        self.out, self.err = fds[1], fds[2]

    def close(self) -> None:
        """Lets go of the descriptors; the session lives on in the keeper."""
        self.channel.close()
        os.close(self.out)
        os.close(self.err)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def verb(self, verb: int, *numbers: int) -> wire.Reader:
        body = struct.pack("<Q", self.id) + struct.pack(f"<{len(numbers)}Q", *numbers)
        return self.keeper.call(verb, body)[0]

    def end(self) -> None:
        self.close()
        self.verb(wire.END)

    def kill(self) -> None:
        self.verb(wire.KILL)

    def interrupt(self, execution: int | None = None) -> None:
        self.verb(wire.INTERRUPT, self.execution if execution is None else execution)

    def reset(self, keep_files: bool = False) -> None:
        self.close()
        body = struct.pack("<QB", self.id, int(keep_files))
        _, fds = self.keeper.call(wire.RESET, body)
        self.take(fds)
        self.partial = None

    def usage(self) -> dict[str, int]:
        reader = self.verb(wire.ASK_USAGE)
        return {name: reader.number("Q") for name in ("cpu_us", "memory_peak", "memory_now")}

    def send(self, kind: int, execution: int, payload: bytes) -> None:
        for frame in wire.frames(kind, execution, payload):
            self.channel.send(frame)

    def setup(self, env: dict[str, str] | None, seed: int | None) -> None:
        seeded = struct.pack("<BQ", int(seed is not None), seed or 0)
        self.send(wire.SETUP, 0, wire.environment(env) + seeded)

    def begin(self, code: bytes | str, **options: Any) -> Execution:
        self.execution += 1
        self.send(wire.EXECUTE, self.execution, wire.execute_payload(code, **options))
        return Execution(self.execution)

    def read_frame(self) -> wire.Message | None:
        """One frame; a whole message if it was the last of one."""
        data = self.channel.recv(64 * 1024)
        if not data:
            raise EOFError("the worker is gone")
        fields = wire.HEADER.unpack_from(data)
        magic, version, kind, flags, execution, sequence, length = fields
        assert (magic, version, length) == (wire.MAGIC, wire.VERSION, len(data) - wire.HEADER.size)
        payload = data[wire.HEADER.size :]
        if kind == wire.STACK:
            return wire.decode_message(wire.Message(kind, execution, sequence, payload))
        if flags & wire.REST:
            if self.partial is None:
                return None  # the tail of something an earlier client read the head of
            self.partial.payload += payload
        else:
            self.partial = wire.Message(
                kind, execution, sequence, payload, bool(flags & wire.REPLAY)
            )
        if flags & wire.MORE:
            return None
        message, self.partial = self.partial, None
        return wire.decode_message(message)

    def run(
        self,
        code: bytes | str,
        timeout: float | None = 20.0,
        on_input: Any = None,
        **options: Any,
    ) -> Execution:
        """Executes and waits for the end: finished, or the worker's death."""
        start = time.monotonic()
        execution = self.begin(code, **options)
        if timeout is not None:
            self.watch(execution.id, timeout)
        self.wait(execution, on_input)
        if timeout is not None and execution.death is None:
            self.verb(wire.UNWATCH, execution.id)
        execution.seconds = time.monotonic() - start
        return execution

    def watch(self, execution: int, seconds: float) -> None:
        self.verb(wire.WATCH, execution, int(seconds * 1000))

    def wait(self, execution: Execution, on_input: Any = None, limit: float = 60.0) -> None:
        until = time.monotonic() + limit
        channel_open = True
        while execution.claim is None and execution.death is None:
            waiting: list[Any] = [self.out, self.err, self.keeper.socket]
            if channel_open:
                waiting.append(self.channel)
            ready = select.select(waiting, [], [], max(0, until - time.monotonic()))[0]
            if not ready:
                raise TimeoutError("no end of the execution")
            if self.out in ready:
                execution.stdout += os.read(self.out, 1 << 16)
            if self.err in ready:
                execution.stderr += os.read(self.err, 1 << 16)
            if self.keeper.socket in ready:
                self.keeper.pump()
            if self.channel in ready:
                channel_open = self._read(execution, on_input)
            self._take_events(execution)
        self._drain(execution)

    def _read(self, execution: Execution, on_input: Any) -> bool:
        try:
            message = self.read_frame()
        except (EOFError, ConnectionResetError):
            return False
        if message is None:
            return True
        execution.messages.append(message)
        if message.kind == wire.FINISHED and message.execution == execution.id:
            execution.claim = message.body["claim"]
            execution.exit_code = message.body["exit_code"]
        if message.kind == wire.INPUT_REQUEST:
            line = on_input(message.body)
            payload = struct.pack("<B", int(line is None)) + wire.blob(line or b"")
            self.send(wire.INPUT, execution.id, payload)
        return True

    def _take_events(self, execution: Execution) -> None:
        for event in list(self.keeper.events):
            name, session, value = event
            if session != self.id:
                continue
            self.keeper.events.remove(event)
            if name == "died":
                execution.death = value
            elif value == execution.id:
                execution.timed_out = True

    def _drain(self, execution: Execution) -> None:
        self.keeper.pump_ready()
        self._take_events(execution)
        while select.select([self.channel], [], [], 0)[0]:
            if not self._read(execution, None):
                break
        # Only what is there now: later bytes belong to the next execution.
        for fd, name in ((self.out, "stdout"), (self.err, "stderr")):
            (size,) = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0"))
            if size:
                setattr(execution, name, getattr(execution, name) + os.read(fd, size))
