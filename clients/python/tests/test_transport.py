# SPDX-License-Identifier: Apache-2.0
"""Retries, errors and connections, against a server that answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import vitrine
from vitrine.errors import server_error
from vitrine.transport import Address, Lines, close_shared, find_address

DONE = {"id": "1", "outcome": "ok", "exit_code": 0, "results": [{"text/plain": "42"}]}
Answer = tuple[int, dict[str, str], bytes]


class Scripted(ThreadingHTTPServer):
    """Gives one answer after the other; None cuts the connection."""

    daemon_threads = True

    def __init__(self, answers: list[Answer | None]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.connections = 0
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Scripted
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        given = json.loads(body) if body else None
        self.server.requests.append((self.command, self.path, dict(self.headers), given))
        answer = self.server.answers.pop(0)
        if answer is None:
            self.close_connection = True
            return
        status, headers, content = answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[Callable[..., Scripted]]:
    started: list[Scripted] = []

    def start(*answers: Answer | None) -> Scripted:
        one = Scripted(list(answers))
        started.append(one)
        threading.Thread(target=one.serve_forever, args=(0.01,), daemon=True).start()
        return one

    yield start
    for one in started:
        close_shared(Address(one.url))
        one.shutdown()
        one.server_close()


def ok(body: Any = DONE) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()


def busy(after: str | None = "0.05") -> Answer:
    headers = {"Retry-After": after} if after else {}
    return (
        503,
        headers,
        b'{"status": 503, "code": "no_capacity", "detail": "full", "remedy": "wait"}',
    )


def test_a_full_server_is_asked_again(scripted: Callable[..., Scripted]) -> None:
    server = scripted(busy(), busy(), ok())

    assert vitrine.run("1", url=server.url).value == 42
    assert len(server.requests) == 3 and server.connections == 1


def test_but_not_for_ever(scripted: Callable[..., Scripted]) -> None:
    server = scripted(*[busy()] * 50)

    with pytest.raises(vitrine.Unavailable) as caught:
        vitrine.run("1", url=server.url, wait_s=0.2)

    assert (caught.value.code, caught.value.remedy) == ("no_capacity", "wait")
    assert 2 <= len(server.requests) <= 5 and caught.value.retry_after == 0.05


async def test_async_too(scripted: Callable[..., Scripted]) -> None:
    server = scripted(busy(), ok(), busy())

    assert (await vitrine.run_async("1", url=server.url)).value == 42
    with pytest.raises(vitrine.Unavailable):
        await vitrine.run_async("1", url=server.url, wait_s=0)


def test_a_stream_is_asked_again_too(scripted: Callable[..., Scripted]) -> None:
    line = json.dumps({"type": "finished", "execution": DONE}).encode() + b"\n"
    server = scripted(busy(), (200, {}, line))

    assert vitrine.run("1", url=server.url, on_stdout=print).value == 42


@pytest.mark.parametrize(
    "answer", [busy(None), (500, {}, b"oops"), (429, {"Retry-After": "0"}, b"")]
)
def test_nothing_else_is_asked_again(scripted: Callable[..., Scripted], answer: Answer) -> None:
    server = scripted(answer, ok())

    with pytest.raises(vitrine.ServerError):
        vitrine.run("1", url=server.url)
    assert len(server.requests) == 1


def test_a_broken_connection_is_not_tried_again(scripted: Callable[..., Scripted]) -> None:
    server = scripted(None, ok())

    with pytest.raises(vitrine.ConnectionLost, match="may have run"):
        vitrine.run("1", url=server.url)
    assert len(server.requests) == 1


def test_a_cut_stream_is_an_error(scripted: Callable[..., Scripted]) -> None:
    server = scripted((200, {}, b'{"type": "stdout", "text": "a"}\n'))
    seen: list[str] = []

    with pytest.raises(vitrine.ConnectionLost):
        vitrine.run("1", url=server.url, on_stdout=seen.append)
    assert seen == ["a"]


def test_nobody_there_says_how_to_start_one() -> None:
    with pytest.raises(vitrine.ConnectionFailed, match="vitrine serve"):
        vitrine.run("1", url="http://127.0.0.1:9")


def test_connections_are_reused(scripted: Callable[..., Scripted]) -> None:
    server = scripted(*[ok()] * 20)
    for _ in range(20):
        vitrine.run("1", url=server.url)

    assert server.connections == 1


def test_a_stream_leaves_its_connection_usable() -> None:
    with vitrine.Sandbox() as box:
        transport = box._transport
        for _ in range(3):
            box.run("print(1)", on_stdout=lambda _: None)
        before = [id(client) for client in transport._idle]
        pools = [client._transport._pool.connections for client in transport._idle]  # type: ignore[attr-defined]
        box.run("print(1)", on_stdout=lambda _: None)

        assert [id(client) for client in transport._idle] == before
        assert pools[-1] == transport._idle[-1]._transport._pool.connections  # type: ignore[attr-defined]
        assert pools[-1], "the connection was given up"


def test_the_token_is_sent_and_never_shown(scripted: Callable[..., Scripted]) -> None:
    server = scripted(ok())
    vitrine.run("1", url=server.url, token="s3cret")

    assert server.requests[0][2]["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(find_address(server.url, "s3cret"))
    close_shared(Address(server.url, "s3cret"))


def test_only_what_was_given_is_sent(scripted: Callable[..., Scripted]) -> None:
    server = scripted(ok())
    vitrine.run("1", url=server.url, timeout=5, seed=0, env={"A": "b"})

    assert server.requests[0][3] == {"code": "1", "timeout_s": 5, "seed": 0, "env": {"A": "b"}}


def test_which_server(monkeypatch: pytest.MonkeyPatch, server: vitrine.Server) -> None:
    monkeypatch.setenv("VITRINE_URL", "http://elsewhere:1/")
    monkeypatch.setenv("VITRINE_TOKEN", "t")

    assert find_address().url == server.url, "an open local() comes first"
    assert find_address("http://named:2") == Address("http://named:2", "t")
    monkeypatch.setattr(vitrine.transport, "local_addresses", [])
    assert find_address() == Address("http://elsewhere:1", "t")
    monkeypatch.delenv("VITRINE_URL")
    assert find_address().url == "http://127.0.0.1:8000"
    with pytest.raises(vitrine.VitrineError, match="address"):
        find_address("localhost:8000")


def test_lines_in_pieces() -> None:
    lines = Lines()

    assert [lines.feed(block) for block in (b"a", b"b\nc\n\nd", b"", b"\n")] == [
        [],
        [b"ab", b"c"],
        [],
        [b"d"],
    ]


def test_errors_by_status() -> None:
    assert isinstance(server_error(418, None, {}), vitrine.BadRequest)
    assert type(server_error(500, "text", {})) is vitrine.ServerError
    assert "VITRINE_TOKEN" in server_error(401, {}, {}).remedy
