# SPDX-License-Identifier: Apache-2.0
"""Pictures in X windows, in as little of the X protocol as that takes.

The picture is the window's background, so the server repaints it by itself: nobody has to wait for
events.
"""

from __future__ import annotations

import os
import struct
from _socket import AF_UNIX, SOCK_STREAM, socket

from .sealed import __builtins__  # noqa: F401

PATIENCE = 10.0  # seconds: the server may have to start first
MAX_REQUEST = 65_000 * 4  # bytes; the protocol allows 65,535 words

CREATE_WINDOW, MAP_WINDOW, CHANGE_PROPERTY, GET_INPUT_FOCUS = 1, 8, 18, 43
CREATE_PIXMAP, CREATE_GC, CLEAR_AREA, PUT_IMAGE = 53, 55, 61, 72
STRING, WM_NAME, WM_NORMAL_HINTS, WM_SIZE_HINTS = 31, 39, 40, 41
US_POSITION, US_SIZE = 1, 2
BACKGROUND_PIXMAP, INPUT_OUTPUT, Z_PIXMAP = 1, 1, 2


class Screen:
    """A connection to the session's X server. OSError if there is none, or none that is usable."""

    def __init__(self) -> None:
        number = _display_number(os.environ.get("DISPLAY", ""))
        self._socket = socket(AF_UNIX, SOCK_STREAM)
        try:
            self._socket.settimeout(PATIENCE)
            self._socket.connect(f"/tmp/.X11-unix/X{number}")
            self._greet(_cookie(number))
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        """All windows of this connection go with it."""
        self._socket.close()

    def window(self, title: str, x: int, y: int, width: int, height: int, pixels: bytes) -> Window:
        """`pixels`: rows of blue, green, red and a byte that says nothing."""
        window, pixmap, gc = self._new_id(), self._new_id(), self._new_id()
        depth = self._depth
        self._request(CREATE_PIXMAP, depth, struct.pack("<IIHH", pixmap, self._root, width, height))
        self._request(CREATE_GC, 0, struct.pack("<III", gc, pixmap, 0))
        made = Window(self, window, pixmap, gc, width, height)
        made.put(pixels)
        place = struct.pack("<IIhhHHHHIII", window, self._root, x, y, width, height, 0,
                            INPUT_OUTPUT, 0, BACKGROUND_PIXMAP, pixmap)  # fmt: skip
        self._request(CREATE_WINDOW, 0, place)
        name = title.encode("latin-1", "replace")
        self._property(window, WM_NAME, STRING, 8, name)
        hints = struct.pack("<I4I13I", US_POSITION | US_SIZE, x, y, width, height, *[0] * 13)
        self._property(window, WM_NORMAL_HINTS, WM_SIZE_HINTS, 32, hints)
        self._request(MAP_WINDOW, 0, struct.pack("<I", window))
        self._wait()
        return made

    def _property(self, window: int, name: int, kind: int, size: int, data: bytes) -> None:
        head = struct.pack("<IIIB3xI", window, name, kind, size, len(data) * 8 // size)
        self._request(CHANGE_PROPERTY, 0, head + data)

    def _greet(self, cookie: bytes) -> None:
        name = b"MIT-MAGIC-COOKIE-1" if cookie else b""
        hello = struct.pack("<BxHHHH2x", ord("l"), 11, 0, len(name), len(cookie))
        self._socket.sendall(hello + _padded(name) + _padded(cookie))
        status, size = struct.unpack("<B5xH", self._read(8))
        body = self._read(size * 4)
        if status != 1:
            raise ConnectionRefusedError("the display does not let us in")
        self._ids, self._mask = struct.unpack_from("<II", body, 4)
        vendor, _, _, formats, order = struct.unpack_from("<HHBBB", body, 16)
        at = 32 + (vendor + 3) // 4 * 4
        words = [body[at + 8 * i + 1] for i in range(formats) if body[at + 8 * i] == 24]
        at += 8 * formats
        self._root, self.width, self.height = struct.unpack_from("<I16xHH", body, at)
        self._depth = body[at + 38]
        if self._depth != 24 or words != [32] or order != 0:
            raise OSError("the display has another form of pixels")
        self._next = 0

    def _new_id(self) -> int:
        self._next += 1
        return self._ids | (self._next & self._mask)

    def _request(self, code: int, detail: int, body: bytes) -> None:
        body = _padded(body)
        self._socket.sendall(struct.pack("<BBH", code, detail, len(body) // 4 + 1) + body)

    def _wait(self) -> None:
        """Until the server has done what it was asked."""
        self._request(GET_INPUT_FOCUS, 0, b"")
        while True:
            kind = self._read(32)[0]
            if kind == 0:
                raise OSError("the display refused the window")
            if kind == 1:
                return

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError("the display is gone")
            data += part
        return data


class Window:
    """A picture on the screen."""

    def __init__(
        self, screen: Screen, window: int, pixmap: int, gc: int, width: int, height: int
    ) -> None:
        self._screen = screen
        self._window, self._pixmap, self._gc = window, pixmap, gc
        self.width, self.height = width, height

    def put(self, pixels: bytes) -> None:
        stride = self.width * 4
        rows = max(1, MAX_REQUEST // stride)
        for y in range(0, self.height, rows):
            part = pixels[y * stride : (y + rows) * stride]
            head = struct.pack("<IIHHhhBB2x", self._pixmap, self._gc, self.width,
                               len(part) // stride, 0, y, 0, 24)  # fmt: skip
            self._screen._request(PUT_IMAGE, Z_PIXMAP, head + part)

    def replace(self, pixels: bytes) -> None:
        self.put(pixels)
        self._screen._request(CLEAR_AREA, 0, struct.pack("<IhhHH", self._window, 0, 0, 0, 0))
        self._screen._wait()


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


def _display_number(display: str) -> int:
    host, _, rest = display.rpartition(":")
    number = rest.partition(".")[0]
    if host not in ("", "unix") or not number.isdigit():
        raise OSError("there is no display" if not display else f"DISPLAY is {display!r}")
    return int(number)


def _cookie(display: int) -> bytes:
    """Of the first entry of the authority file that is for this display."""
    path = os.environ.get("XAUTHORITY") or os.path.expanduser("~/.Xauthority")
    try:
        with open(path, "rb") as file:
            data = file.read(1 << 16)
    except OSError:
        return b""
    at = 0
    while at + 2 <= len(data):
        at += 2
        fields = []
        for _ in range(4):  # address, number, name, cookie
            size = int.from_bytes(data[at : at + 2], "big")
            fields.append(data[at + 2 : at + 2 + size])
            at += 2 + size
        if fields[1] in (b"", b"%d" % display) and fields[2] == b"MIT-MAGIC-COOKIE-1":
            return fields[3]
    return b""
