# SPDX-License-Identifier: Apache-2.0
"""What sessions with a network talk to: web servers and a name server on loopback addresses."""

from __future__ import annotations

import contextlib
import http.server
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

from served import Server, family

OPEN = "127.77.0.1"  # inside what the operator opened
CLOSED = "127.88.0.1"  # loopback as well, and not opened


class Origin(http.server.ThreadingHTTPServer):
    """An ordinary web server that remembers what it was sent."""

    daemon_threads = True

    def __init__(self, address: str, port: int = 0) -> None:
        super().__init__((address, port), Page)
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.port = self.server_address[1]
        self.name = f"{address}:{self.port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Origin

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path[4:])
            self.send_header("Content-Length", "0")
            self.say_whether_it_closes()
            self.end_headers()
            return
        answer = b"hello " + body
        if self.path == "/big":
            answer = b"x" * 3_000_000
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.say_whether_it_closes()
        self.end_headers()
        self.wfile.write(answer)

    def say_whether_it_closes(self) -> None:
        """As RFC 9112 section 9.6 asks of a server that was told to close: otherwise a client sends
        its next request into a connection that is just ending."""
        if self.close_connection:
            self.send_header("Connection", "close")

    do_POST = do_GET  # noqa: N815

    def log_message(self, *args: object) -> None:
        pass


class Names:
    """A name server that answers what it is told to: name -> a list of answers, each a list of
    addresses, given one after the other; the last one stays."""

    def __init__(self, address: str) -> None:
        self.zones: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                question, client = self.socket.recvfrom(4096)
                self.socket.sendto(self.answer(question), client)
            except OSError:
                return

    def answer(self, question: bytes) -> bytes:
        labels, at = [], 12
        while size := question[at]:
            labels.append(question[at + 1 : at + 1 + size].decode())
            at += 1 + size
        name = ".".join(labels).lower()
        kind = struct.unpack(">H", question[at + 1 : at + 3])[0]
        self.asked.append(name)
        answers = self.zones.get(name, [[]])
        # Both kinds are asked for at once; the first ends a round.
        given = answers.pop(0) if kind == 1 and len(answers) > 1 else answers[0]
        records = b""
        count = 0
        for address in given:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            if (kind == 28) != (family == socket.AF_INET6):
                continue
            data = socket.inet_pton(family, address)
            records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(data)) + data
            count += 1
        head = question[:2] + struct.pack(">HHHHH", 0x8180, 1, count, 0, 0)
        return head + question[12 : at + 5] + records

    def close(self) -> None:
        self.socket.close()


def proxies(server: Server) -> list[int]:
    found = []
    for pid, _ in family(server.process.pid):
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == "vitrine-egress":
                found.append(pid)
        except OSError:
            pass
    return found


def raw(request: bytes) -> str:
    """Code that sends these bytes to the proxy and prints what comes back."""
    return (
        "import socket\n"
        "with socket.create_connection(('127.0.0.1', 3128), 30) as s:\n"
        f"    s.sendall({request!r})\n"
        "    parts = []\n"
        "    while part := s.recv(65536): parts.append(part)\n"
        "print(b''.join(parts).decode('latin-1'))"
    )


@contextlib.contextmanager
def listening(address: str, port: int = 0) -> Iterator[Origin]:
    one = Origin(address, port)
    try:
        yield one
    finally:
        one.shutdown()
        one.server_close()
