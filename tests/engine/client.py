# SPDX-License-Identifier: Apache-2.0
"""A small client of the keeper: enough to drive sessions in tests, blocking and simple."""

from __future__ import annotations

import fcntl
import os
import random
import select
import socket
import struct
import termios
import time
from collections.abc import Callable, Sequence
from typing import Any

from execution import Execution
from keeper_info import keeper_info

import wire

PATIENCE = 60.0  # seconds until a test is told that something hangs
Answer = Callable[[dict[str, Any]], "bytes | None"]


class KeeperError(Exception):
    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(f"{code}: {message} ({remedy})")
        self.code, self.message, self.remedy = code, message, remedy


class Keeper:
    """One connection to the control socket."""

    def __init__(self, path: str, timeout: float = PATIENCE) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(path)  # with a time limit it would fail when the backlog is full
        self.socket.settimeout(timeout)
        self.number = 0
        self.events: list[tuple[str, int, Any]] = []
        self.sessions: list[Session] = []
        self.frozen: set[int] = set()  # those that the last list() said are
        self.replies: dict[int, tuple[bytes, list[int]]] = {}

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """As if the client died: all its descriptors are closed, its sessions stay."""
        for session in self.sessions:
            session.close()
        self.socket.close()

    def post(self, verb: int, body: bytes = b"", number: int = 0) -> None:
        self.socket.send(struct.pack("<BI", verb, number) + body)

    def call(self, verb: int, body: bytes = b"") -> tuple[wire.Reader, list[int]]:
        return self.finish(self.start(verb, body))

    def start(self, verb: int, body: bytes = b"") -> int:
        """Sends a request without waiting for its answer."""
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
            code = reader.choice(wire.CODES)
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
            cause = reader.choice(wire.CAUSES)
            self.events.append(("died", session, (cause, reader.number("i"))))
        elif event == 1:
            self.events.append(("timed_out", session, reader.number("Q")))
        elif event == 2:
            self.events.append(("display_started", session, None))
        else:
            self.events.append(("display_died", session, reader.text()))

    def pump_ready(self) -> None:
        while is_ready(self.socket):
            self.pump()

    def create(
        self,
        variant: str = "bare",
        lifetime: str = "session",
        limits: wire.Limits | None = None,
        env: dict[str, str] | None = None,
        seed: int | None = None,
        network: Sequence[str] = (),
        policy: str = "native",
        isolation: str = "process",
        layers: tuple[str, ...] = (),
    ) -> Session:
        body = bytes([wire.VARIANTS[variant], wire.LIFETIMES[lifetime]])
        body += (limits or wire.Limits()).encode() + wire.rules(network) + wire.display()
        body += wire.blob("")  # no environment
        body += bytes([wire.POLICIES[policy], wire.ISOLATIONS.index(isolation)])
        body += bytes([len(layers)]) + b"".join(wire.blob(one) for one in layers)
        reader, fds = self.call(wire.CREATE, body)
        session = Session(self, wire.opened(reader, fds))
        if env or seed is not None:
            session.setup(env, seed)
        return session

    def attach(self, session: int) -> Session:
        reader, fds = self.call(wire.ATTACH, struct.pack("<Q", session))
        opened = wire.opened(reader, fds)
        if opened.overdue:
            self.events.append(("timed_out", opened.session, opened.overdue))
        return Session(self, opened, adopted=True)

    def list(self) -> dict[int, tuple[bool, int]]:
        """Session -> (is it dead, the execution being watched)."""
        found = {}
        for session, (death, watched) in self.list_deaths().items():
            found[session] = (death is not None, watched)
        return found

    def list_deaths(self) -> dict[int, tuple[tuple[str, int] | None, int]]:
        """Session -> (how it died, the execution being watched)."""
        found: dict[int, tuple[tuple[str, int] | None, int]] = {}
        more = True
        while more:
            reader, _ = self.call(wire.LIST, struct.pack("<Q", max(found, default=0)))
            more = bool(reader.number("B"))
            for _ in range(reader.number("I")):
                session, watched = reader.number("Q"), reader.number("Q")
                if reader.number("B"):
                    self.frozen.add(session)
                else:
                    self.frozen.discard(session)
                death = None
                if reader.number("B"):
                    death = (wire.CAUSES[reader.number("B")], reader.number("i"))
                found[session] = (death, watched)
        return found

    def end_all(self) -> None:
        for session in self.list():
            try:
                self.call(wire.END, struct.pack("<Q", session))
            except KeeperError as error:
                if error.code != "not_found":
                    raise

    def info(self) -> dict[str, Any]:
        reader, _ = self.call(wire.INFO)
        return keeper_info(reader)


class Session:
    """A session's socket and streams. `state_kept` and deaths come by the keeper's events."""

    def __init__(self, keeper: Keeper, opened: wire.Opened, adopted: bool = False) -> None:
        self.keeper, self.id, self.source = keeper, opened.session, opened.source
        keeper.sessions.append(self)
        self.execution = 0
        self.take(opened.fds, adopted)

    def take(self, fds: dict[str, int], adopted: bool = False) -> None:
        self.channel = socket.socket(fileno=fds.pop("session_socket"))
        self.channel.settimeout(PATIENCE)
        self.streams = {fds.pop("stdout_pipe"): "stdout", fds.pop("stderr_pipe"): "stderr"}
        for fd in fds.values():  # what a client measures with, and its proxy's two
            os.close(fd)
        self.assembler = wire.Assembler(adopted)
        self.ended: set[int] = set()  # descriptors at their end

    def close(self) -> None:
        """Lets go of the descriptors; the session lives on in the keeper."""
        self.channel.close()
        for fd in self.streams:
            os.close(fd)
        self.streams.clear()

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
        self.take(wire.opened(*self.keeper.call(wire.RESET, body)).fds)

    def freeze(self, frozen: bool = True) -> None:
        self.keeper.call(wire.FREEZE, struct.pack("<QB", self.id, int(frozen)))

    def usage(self) -> dict[str, int]:
        reader = self.verb(wire.ASK_USAGE)
        return {name: reader.number("Q") for name in ("cpu_us", "memory_peak", "memory_now")}

    def is_dead(self) -> bool:
        return self.keeper.list()[self.id][0]

    def watch(self, execution: int, seconds: float) -> None:
        self.verb(wire.WATCH, execution, int(seconds * 1000))

    def send(self, kind: int, execution: int, payload: bytes) -> None:
        for frame in wire.frames(kind, execution, payload):
            self.channel.send(frame)

    def setup(self, env: dict[str, str] | None, seed: int | None) -> None:
        self.send(wire.SETUP, 0, wire.setup_payload(env, seed))

    def begin(self, code: bytes | str, **options: Any) -> Execution:
        self.execution += 1
        self.send(wire.EXECUTE, self.execution, wire.execute_payload(code, **options))
        return Execution(self.execution)

    def run(
        self,
        code: bytes | str,
        timeout: float | None = None,
        on_input: Answer | None = None,
        **options: Any,
    ) -> Execution:
        """Executes and waits for the end: finished, or the worker's death."""
        if timeout is not None:
            self.watch(self.execution + 1, timeout)
        execution = self.begin(code, **options)
        self.wait(execution, on_input)
        if timeout is not None:
            self.verb(wire.UNWATCH, execution.id)
            self._take_events(execution)
        return execution

    def ask_to_resume(self) -> int:
        """The token with which the answer will come."""
        token = random.getrandbits(63) + 1
        self.send(wire.RESUME, 0, struct.pack("<Q", token))
        return token

    def resume(self, until: Callable[[Execution], bool] | None = None) -> Execution:
        """After attaching: the last execution, all of it. The worker answers once it reads: when it
        is idle, or waits for input; what came before the answer comes again in it."""
        token = self.ask_to_resume()
        execution = Execution(0)

        def answers(message: wire.Message) -> bool:
            return message.kind == wire.READY and message.body["token"] == token

        self.wait(execution, until=lambda: any(map(answers, execution.messages)))
        at = next(n for n, m in enumerate(execution.messages) if answers(m))
        execution.messages[:at] = []
        self.execution = execution.id = execution.messages[0].body["last_execution"]
        for message in execution.messages:
            execution.end_with(message)
        if execution.id:
            self._take_events(execution)
            self.wait(execution, until=None if until is None else lambda: until(execution))
        return execution

    def wait(
        self,
        execution: Execution,
        on_input: Answer | None = None,
        until: Callable[[], bool] | None = None,
        limit: float = PATIENCE,
    ) -> None:
        """Until the execution is finished, its worker dead or lying, or `until` says so."""
        latest = time.monotonic() + limit

        def over() -> bool:
            done = execution.claim is not None or execution.death is not None
            return done or execution.lie is not None or (until is not None and until())

        while not over():
            ready = self._poll(latest - time.monotonic())
            if not ready:
                raise TimeoutError(f"no end of execution {execution.id}: {execution}")
            for fd in ready:
                if fd in self.streams:
                    self._read_stream(execution, fd)
            if self.keeper.socket.fileno() in ready:
                self.keeper.pump()
            if self.channel.fileno() in ready:
                self._read_channel(execution, on_input)
            self._take_events(execution)
        self._drain(execution)

    def wait_for_death(self, execution: Execution, limit: float = PATIENCE) -> None:
        """After an execution that also finished: until the keeper says that the worker is gone."""
        latest = time.monotonic() + limit
        while execution.death is None:
            poll = select.poll()
            poll.register(self.keeper.socket, select.POLLIN)
            if not poll.poll(max(0, (latest - time.monotonic()) * 1000)):
                raise TimeoutError("the worker lives on")
            self.keeper.pump()
            self._take_events(execution)

    def _poll(self, seconds: float) -> list[int]:
        poll = select.poll()
        for fd in (*self.streams, self.channel.fileno(), self.keeper.socket.fileno()):
            if fd not in self.ended:
                poll.register(fd, select.POLLIN)
        return [fd for fd, _ in poll.poll(max(0, seconds * 1000))]

    def _read_stream(self, execution: Execution, fd: int) -> None:
        data = os.read(fd, 1 << 18)
        execution.take(self.streams[fd], data)
        if not data:
            self.ended.add(fd)

    def read_messages(self) -> list[wire.Message]:
        """Reads one datagram; gives the messages that end in it. EOFError at the end."""
        try:
            datagram, _, flags, _ = self.channel.recvmsg(wire.MAX_FRAME)
        except ConnectionResetError:
            datagram, flags = b"", 0
        if not datagram:
            self.ended.add(self.channel.fileno())
            raise EOFError("the worker closed its socket")
        if flags & socket.MSG_TRUNC:
            raise wire.ProtocolError("a frame is longer than 64 KiB")
        messages = [self.assembler.add(frame) for frame in wire.decode_frames(datagram)]
        return [message for message in messages if message is not None]

    def _read_channel(self, execution: Execution, on_input: Answer | None) -> None:
        try:
            messages = self.read_messages()
        except EOFError:
            return  # how it died, the keeper tells
        except wire.ProtocolError as lie:
            execution.lie = lie
            return
        for message in messages:
            execution.messages.append(message)
            execution.end_with(message)
            if message.kind == wire.INPUT_REQUEST and on_input is not None:
                self.answer(on_input(message.body))

    def answer(self, line: bytes | None) -> None:
        """To an INPUT_REQUEST; None = end of file."""
        payload = struct.pack("<B", int(line is None)) + wire.blob(line or b"")
        self.send(wire.INPUT, self.execution, payload)

    def _take_events(self, execution: Execution) -> None:
        for event in list(self.keeper.events):
            name, session, value = event
            if session != self.id or (name == "timed_out" and not execution.id):
                continue  # of another session, or of an execution that is not known yet
            self.keeper.events.remove(event)
            if name == "died":
                execution.death = value
            elif value == execution.id:
                execution.timed_out = True

    def _drain(self, execution: Execution) -> None:
        self.keeper.pump_ready()
        self._take_events(execution)
        while self.channel.fileno() not in self.ended and is_ready(self.channel):
            if execution.lie is not None:
                break
            self._read_channel(execution, None)
        # Only what is there now: later bytes belong to the next execution.
        for fd, name in self.streams.items():
            (size,) = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0"))
            if size:
                execution.take(name, os.read(fd, size))


def is_ready(file: Any) -> bool:
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(0))
