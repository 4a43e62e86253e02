# SPDX-License-Identifier: Apache-2.0
"""The front's place at `vitrine-screen`, written from src/wire/screen.h alone."""

import contextlib
import os
import socket
import subprocess
from dataclasses import dataclass
from struct import pack, unpack_from

from xvfb import BIN, PATIENCE, Display, die_with_parent

MOVE, CLICK, DRAG, SCROLL, TEXT, KEY, BUTTON_DOWN, BUTTON_UP, KEY_DOWN, KEY_UP, PAUSE, CLOSE = (
    range(12)
)
LIST, INPUT, CAPTURE = range(3)
READY, WINDOWS, DELIVERED, REFUSED, CAPTURED = range(5)


def _text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return pack("<I", len(raw)) + raw


def _at(point: tuple[int, int] | None) -> bytes:
    return b"\0" if point is None else b"\1" + pack("<ii", *point)


def move(x: int, y: int) -> bytes:
    return pack("<Bii", MOVE, x, y)


def click(x: int, y: int, button: int = 1, count: int = 1) -> bytes:
    return bytes([CLICK]) + _at((x, y)) + bytes([button, count])


def drag(start: tuple[int, int], end: tuple[int, int], button: int = 1, steps: int = 10) -> bytes:
    return pack("<BiiiiBH", DRAG, *start, *end, button, steps)


def scroll(x: int, y: int, dx: int = 0, dy: int = 0) -> bytes:
    return bytes([SCROLL]) + _at((x, y)) + pack("<hh", dx, dy)


def text(value: str) -> bytes:
    return bytes([TEXT]) + _text(value)


def key(value: str) -> bytes:
    return bytes([KEY]) + _text(value)


def key_down(value: str) -> bytes:
    return bytes([KEY_DOWN]) + _text(value)


def key_up(value: str) -> bytes:
    return bytes([KEY_UP]) + _text(value)


def button(down: bool, which: int = 1, at: tuple[int, int] | None = None) -> bytes:
    return bytes([BUTTON_DOWN if down else BUTTON_UP]) + _at(at) + bytes([which])


def pause(milliseconds: int) -> bytes:
    return pack("<BI", PAUSE, milliseconds)


def close(window: int = 0) -> bytes:
    return pack("<BI", CLOSE, window)


@dataclass
class Window:
    id: int
    title: str
    x: int
    y: int
    width: int
    height: int
    override_redirect: bool
    mapped: bool
    active: bool
    z: int
    parent: int


@dataclass
class Refused(Exception):
    text: str
    event: int | None


class Screen:
    """One helper in a display; close() ends it."""

    def __init__(self, display: Display) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        with theirs:
            self.process = subprocess.Popen(
                [BIN / "vitrine-screen"],
                env=display.environment,
                # The socket must be descriptor 3, which Popen itself does not offer.
                preexec_fn=lambda: (die_with_parent(), os.dup2(theirs.fileno(), 3)),
                close_fds=False,
            )
        self.number = 0
        self.answers: dict[int, tuple[int, bytes, list[int]]] = {}
        assert self.receive(0)[0] == READY

    def send(self, kind: int, fields: bytes = b"") -> int:
        self.number += 1
        self.socket.send(pack("<IB", self.number, kind) + fields)
        return self.number

    def receive(self, number: int) -> tuple[int, bytes, list[int]]:
        while number not in self.answers:
            packet, fds, _, _ = socket.recv_fds(self.socket, 1 << 20, 4)
            assert packet, "the helper ended"
            self.answers[unpack_from("<I", packet)[0]] = (packet[4], packet[5:], fds)
        return self.answers.pop(number)

    def ask(self, kind: int, fields: bytes = b"") -> tuple[int, bytes, list[int]]:
        return self.result(self.send(kind, fields))

    def result(self, number: int) -> tuple[int, bytes, list[int]]:
        kind, body, fds = self.receive(number)
        if kind == REFUSED:
            (size,) = unpack_from("<I", body)
            named, event = unpack_from("<BH", body, 4 + size)
            raise Refused(body[4 : 4 + size].decode(), event if named else None)
        return kind, body, fds

    def input(self, *events: bytes) -> None:
        kind, _, _ = self.ask(INPUT, pack("<H", len(events)) + b"".join(events))
        assert kind == DELIVERED

    def windows(self) -> list[Window]:
        return self.all_windows()[0]

    def all_windows(self) -> tuple[list[Window], bool]:
        kind, body, _ = self.ask(LIST)
        assert kind == WINDOWS
        more, count = unpack_from("<BH", body)
        at, found = 3, []
        for _ in range(count):
            ident, size = unpack_from("<II", body, at)
            title = body[at + 8 : at + 8 + size].decode()
            at += 8 + size
            x, y, width, height, override, mapped, active, z, parent = unpack_from(
                "<iiIIBBBII", body, at
            )
            at += 27
            found.append(
                Window(ident, title, x, y, width, height, bool(override), bool(mapped),
                       bool(active), z, parent)
            )  # fmt: skip
        assert at == len(body)
        return found, bool(more)

    def window(self, title: str) -> Window | None:
        return next((w for w in self.windows() if w.title == title and w.mapped), None)

    def active(self) -> str | None:
        return next((w.title for w in self.windows() if w.active), None)

    def capture(self, window: int) -> tuple[int, int, bytes]:
        kind, body, fds = self.ask(CAPTURE, pack("<I", window))
        assert kind == CAPTURED
        width, height = unpack_from("<II", body)
        (fd,) = fds
        try:
            return width, height, os.pread(fd, width * height * 4 + 1, 0)
        finally:
            os.close(fd)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self.socket.close()
