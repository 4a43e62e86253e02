# SPDX-License-Identifier: Apache-2.0
"""Many environments that reset at the same instant, as a training run does between episodes.

The stock client takes about as long for a WebSocket as the server does for a sealed session, so
this one speaks just enough of the protocol: a handshake, one text frame, and the response.
"""

from __future__ import annotations

import base64
import os
import selectors
import socket
import time

PATIENCE = 60.0
RESET = b'{"type": "reset", "data": {}}'
FRAME = bytes([0x81, 0x80 | len(RESET)]) + b"\0\0\0\0" + RESET  # masked with zeros


def handshake(port: int) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    lines = ["GET /ws HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket"]
    lines += ["Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
    return "\r\n".join([*lines, "", ""]).encode()


class Burst:
    """So many sockets to one server; close() ends their environments."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sockets: list[socket.socket] = []

    def open(self, count: int) -> float:
        """Seconds until all of them are connected and have their first observation."""
        began = time.perf_counter()
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", self._port))
            self._sockets.append(one)
            one.sendall(handshake(self._port))
        self._read_all(b"\r\n\r\n")
        self.reset()
        return time.perf_counter() - began

    def reset(self) -> float:
        """Seconds until the last of them has its observation."""
        began = time.perf_counter()
        for one in self._sockets:
            one.sendall(FRAME)
        self._read_all(b'"observation"')
        return time.perf_counter() - began

    def _read_all(self, until: bytes) -> None:
        end = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as selector:
            for one in self._sockets:
                selector.register(one, selectors.EVENT_READ, bytearray())
            while selector.get_map():
                ready = selector.select(end - time.monotonic())
                if not ready:
                    raise SystemExit("bench: an environment did not answer")
                for key, _ in ready:
                    got = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                    key.data.extend(got)
                    if not got or b'"type":"error"' in key.data:
                        raise SystemExit(f"bench: reset failed: {bytes(key.data[-300:])!r}")
                    if until in key.data:
                        selector.unregister(key.fileobj)

    def close(self) -> None:
        for one in self._sockets:
            one.close()
