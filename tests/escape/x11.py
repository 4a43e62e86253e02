# SPDX-License-Identifier: Apache-2.0
"""X11 by hand, for the scripts: raw requests, so that nothing of a library is in the way."""

import os
import socket
import struct

PATH = "/tmp/.X11-unix/X99"


def cookie():
    """The session's own, from the file that XAUTHORITY names."""
    with open(os.environ["XAUTHORITY"], "rb") as file:
        data = file.read()
    at = 2
    fields = []
    for _ in range(4):
        size = struct.unpack(">H", data[at : at + 2])[0]
        fields.append(data[at + 2 : at + 2 + size])
        at += 2 + size
    return fields[2], fields[3]


def padded(data):
    return data + b"\0" * (-len(data) % 4)


class Refused(Exception):
    pass


class X:
    """One connection. Errors of the server are answers like others: (code, bytes)."""

    def __init__(self, path=PATH, auth=None, wait=20):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(wait)
        self.socket.connect(path)
        name, data = cookie() if auth is None else auth
        self.socket.sendall(
            struct.pack("<BxHHHHxx", ord("l"), 11, 0, len(name), len(data))
            + padded(name)
            + padded(data)
        )
        status, _, _, _, size = struct.unpack("<BBHHH", self.read(8))
        setup = self.read(4 * size)
        if status != 1:
            raise Refused(setup)
        self.base, self.mask = struct.unpack("<II", setup[4:12])
        vendor, longest = struct.unpack("<HH", setup[16:20])
        self.longest = longest
        formats = setup[21]
        at = 32 + len(padded(b"\0" * vendor)) + 8 * formats
        self.root = struct.unpack("<I", setup[at : at + 4])[0]
        self.width, self.height = struct.unpack("<HH", setup[at + 20 : at + 24])
        self.visual = struct.unpack("<I", setup[at + 32 : at + 36])[0]
        self.sequence = 0
        self.made = 0

    def read(self, size):
        parts = []
        while size:
            part = self.socket.recv(min(size, 1 << 20))
            if not part:
                raise ConnectionResetError("the X server closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def id(self):
        self.made += 1
        return self.base | self.made

    def send(self, code, detail=0, body=b""):
        body = padded(body)
        self.sequence = (self.sequence + 1) & 0xFFFF
        self.socket.sendall(struct.pack("<BBH", code, detail, 1 + len(body) // 4) + body)

    def answer(self):
        """To the newest request that has one: ("reply", bytes) or ("error", its number)."""
        while True:
            head = self.read(32)
            kind, detail, sequence, size = struct.unpack("<BBHI", head[:8])
            if kind == 1:
                more = self.read(4 * size)
                if sequence == self.sequence:
                    return "reply", head + more
            elif kind == 0 and sequence == self.sequence:
                return "error", detail

    def ask(self, code, detail=0, body=b""):
        self.send(code, detail, body)
        return self.answer()

    def sync(self):
        """Everything before it is done: GetInputFocus."""
        return self.ask(43)[0] == "reply"

    def verdict(self, code, detail=0, body=b""):
        """Of a request that answers only with an error: its number, or "done"."""
        self.send(code, detail, body)
        wanted = self.sequence
        self.send(43)
        seen = "done"
        while True:
            head = self.read(32)
            kind, number, sequence, size = struct.unpack("<BBHI", head[:8])
            if kind == 0 and sequence == wanted:
                seen = f"error {number}"
            elif kind == 1:
                self.read(4 * size)
                if sequence == self.sequence:
                    return seen

    # ---- what the scripts need

    def window(self, x=0, y=0, width=100, height=100, pixel=0xFF0000, parent=None):
        made = self.id()
        body = struct.pack(
            "<IIhhHHHHII", made, parent or self.root, x, y, width, height, 0, 1, 0, 2
        )
        self.send(1, 0, body + struct.pack("<I", pixel))
        self.send(8, 0, struct.pack("<I", made))
        return made

    def pixels(self, window=None, x=0, y=0, width=None, height=None):
        """GetImage: the bytes, or the error's number."""
        body = struct.pack(
            "<IhhHHI",
            window or self.root,
            x,
            y,
            width or self.width,
            height or self.height,
            ~0 & 0xFFFFFFFF,
        )
        kind, data = self.ask(73, 2, body)
        return data[32:] if kind == "reply" else data

    def children(self, window=None):
        kind, data = self.ask(15, 0, struct.pack("<I", window or self.root))
        if kind == "error":
            return []
        count = struct.unpack("<H", data[16:18])[0]
        return list(struct.unpack(f"<{count}I", data[32 : 32 + 4 * count]))

    def tree(self, window=None):
        found = []
        for one in self.children(window):
            found += [one, *self.tree(one)]
        return found

    def title(self, window):
        body = struct.pack("<IIIII", window, 39, 0, 0, 1000)
        kind, data = self.ask(20, 0, body)
        return data[32:].rstrip(b"\0").decode("latin-1") if kind == "reply" else ""

    def extensions(self):
        _, data = self.ask(99)
        names, at = [], 32
        for _ in range(data[1]):
            size = data[at]
            names.append(data[at + 1 : at + 1 + size].decode())
            at += 1 + size
        return names

    def extension(self, name):
        """Its major number, or None."""
        _, data = self.ask(98, 0, struct.pack("<Hxx", len(name)) + name.encode())
        return data[9] if data[8] else None

    def atom(self, name, make=True):
        """Its number; 0 if there is none and none is to be made."""
        _, data = self.ask(16, int(not make), struct.pack("<Hxx", len(name)) + name.encode())
        return struct.unpack("<I", data[8:12])[0]

    def close(self):
        self.socket.close()
