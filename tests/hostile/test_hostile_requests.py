# SPDX-License-Identifier: Apache-2.0
"""Requests that try to be two requests, to come from elsewhere, or to be too much."""

from __future__ import annotations

import contextlib
import socket

import pytest
from hostile_attacks import head, send, statuses
from http_answer import parse_answer, read_all
from served import Server, Session

SECOND = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["Content-Length: 4", "Transfer-Encoding: chunked"], id="CL.TE"),
        pytest.param(["Transfer-Encoding: chunked", "Content-Length: 4"], id="TE.CL"),
        pytest.param(["Content-Length: 4", "Content-Length: 5"], id="CL.CL"),
        pytest.param(["Content-Length: 4", "Content-Length: 4"], id="CL twice"),
        pytest.param(["Content-Length: 4, 4"], id="CL list"),
        pytest.param(["Content-Length: +4"], id="CL plus"),
        pytest.param(["Content-Length: -4"], id="CL minus"),
        pytest.param(["Content-Length: 0x4"], id="CL hex"),
        pytest.param(["Content-Length: 4 4"], id="CL two numbers"),
        pytest.param(["Content-Length:"], id="CL empty"),
        pytest.param(["Content-Length: 99999999999999999999999"], id="CL huge"),
        pytest.param(["Content-Length : 4"], id="space before colon"),
        pytest.param(["Transfer-Encoding: identity"], id="TE identity"),
        pytest.param(["Transfer-Encoding: xchunked"], id="TE xchunked"),
        pytest.param(["Transfer-Encoding: chunked, identity"], id="TE list"),
        pytest.param(["Transfer-Encoding: gzip, chunked"], id="TE gzip"),
        pytest.param(["Transfer-Encoding: \x0bchunked"], id="TE control byte"),
        pytest.param(["Transfer-Encoding: chunked", "Transfer-Encoding: x"], id="TE.TE"),
        pytest.param(["Transfer-Encoding: x", "Transfer-Encoding: chunked"], id="TE.TE reversed"),
        pytest.param(["Transfer-Encoding : chunked"], id="TE space before colon"),
        pytest.param(["X: y\nContent-Length: 4"], id="bare LF"),
        pytest.param(["X: y\rContent-Length: 4"], id="bare CR"),
        pytest.param(["X: a\0b"], id="NUL in a value"),
        pytest.param(["X\0: a"], id="NUL in a name"),
        pytest.param(["X\x80: a"], id="no token as name"),
        pytest.param([": a"], id="no name"),
        pytest.param(["no colon"], id="no colon"),
    ],
)
def test_a_request_of_doubtful_length_is_one_refused_request(
    victim: Server, lines: list[str]
) -> None:
    request = head(victim, *lines, start="POST /v1/run HTTP/1.1")

    answer = send(victim, request + b"0\r\n\r\n" + SECOND)

    assert statuses(answer) == [400], answer[:300]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(["Transfer-Encoding:", " chunked"], [400, 421], id="TE"),
        pytest.param(["X: y", "\tContent-Length: 5"], [400, 400], id="CL is part of X"),
        pytest.param([" Transfer-Encoding: chunked"], [421], id="TE is part of Host"),
    ],
)
def test_a_folded_line_is_the_rest_of_the_one_before(
    victim: Server, lines: list[str], expected: list[int]
) -> None:
    """As RFC 9112 allows: with a space in place of the fold."""
    request = head(victim, *lines, start="POST /v1/run HTTP/1.1")

    answer = send(victim, request + b"0\r\n\r\n" + SECOND)

    assert statuses(answer) == expected, answer[:300]


@pytest.mark.parametrize(
    ("body", "allowed"),
    [
        pytest.param(b"FFFFFFFFFFFFFFFFF\r\nx", {400}, id="size of 68 bits"),
        pytest.param(b"-1\r\nx\r\n0\r\n\r\n", {400}, id="negative"),
        pytest.param(b"0x5\r\nhello\r\n0\r\n\r\n", {400}, id="hex prefix"),
        pytest.param(b" 5\r\nhello\r\n0\r\n\r\n", {400}, id="space"),
        pytest.param(b"\r\nhello\r\n0\r\n\r\n", {400}, id="no size"),
        pytest.param(b"5\nhello\n0\n\n", {400}, id="bare LF"),
        pytest.param(b"5\r\nhelloXX0\r\n\r\n", {400}, id="no line end after data"),
        pytest.param(b"5;" + b"x" * (1 << 20) + b"\r\nhello\r\n0\r\n\r\n", {400}, id="1 MB ext"),
        pytest.param(b"0\r\nX: " + b"y" * (1 << 20) + b"\r\n\r\n", {400}, id="1 MB trailer"),
        pytest.param(b"1;a=b\r\n{\r\n1;c\r\n}\r\n0\r\n\r\n", {422}, id="extensions are skipped"),
    ],
)
def test_chunks_that_are_none(victim: Server, body: bytes, allowed: set[int]) -> None:
    lines = ("Transfer-Encoding: chunked", "Connection: close")
    request = head(victim, *lines, start="POST /v1/run HTTP/1.1")

    answer = send(victim, request + body)

    assert len(statuses(answer)) == 1 and statuses(answer)[0] in allowed, answer[:300]


def test_a_chunk_of_all_bytes_there_are_is_read_no_further_than_the_limit(victim: Server) -> None:
    request = head(victim, "Transfer-Encoding: chunked", start="POST /v1/run HTTP/1.1")
    before = victim.resident_kb()
    with victim.socket(30) as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(request + b"7FFFFFFFFFFFFFFF\r\n")
            for _ in range(48):
                client.sendall(b"x" * (1 << 20))
        client.shutdown(socket.SHUT_WR)
        answer = read_all(client)

    assert statuses(answer) == [413], answer[:300]
    assert victim.resident_kb() - before < 64 * 1024


@pytest.mark.parametrize(
    ("request_bytes", "allowed"),
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 80, [400], id="TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400], id="HTTP/2"),
        pytest.param(b"GET /health\r\n\r\n", [400], id="HTTP/0.9"),
        pytest.param(b"GET /health HTTP/1.1\n\n", [400], id="LF only"),
        pytest.param(b"GET  /health HTTP/1.1\r\n\r\n", [400], id="two spaces"),
        pytest.param(b"G\0T /health HTTP/1.1\r\n\r\n", [400], id="NUL in the method"),
        pytest.param(b"GET /he\0lth HTTP/1.1\r\n\r\n", [400], id="NUL in the target"),
        pytest.param(b"\xff\xfe\xfd" * 100 + b"\r\n\r\n", [400], id="noise"),
        pytest.param(
            b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", [431, 400], id="long target"
        ),
        pytest.param(b"A" * 100_000, [431, 400], id="endless method"),
    ],
)
def test_what_is_no_request(victim: Server, request_bytes: bytes, allowed: list[int]) -> None:
    with victim.socket(20) as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(request_bytes)
            client.shutdown(socket.SHUT_WR)
        answer = read_all(client)

    assert len(statuses(answer)) == 1 and statuses(answer)[0] in allowed, answer[:200]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([f"X-{n}: y" for n in range(5000)], id="many"),
        pytest.param(["X: " + "y" * 17_000], id="one large"),
        pytest.param(["x" * 17_000 + ": y"], id="large name"),
        pytest.param(["Cookie: " + "a=b; " * 4000], id="cookies"),
    ],
)
def test_too_many_headers(victim: Server, lines: list[str]) -> None:
    answer = send(victim, head(victim, *lines))

    parse_answer(answer).is_problem(431, "header_too_large")
    assert statuses(answer) == [431]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:1",
        "localhost:{port}.evil.example",
        "evil@127.0.0.1:{port}",
        "127.0.0.1:{port}@evil",
        "[::ffff:127.0.0.1]:{port}",
        "",
        "127.0.0.1:{port}/",
        "127.0.0.1:0{port}",
        "LOCALHOST:{port} ",
        "2130706433:{port}",
    ],
)
def test_a_name_that_is_not_ours_is_misdirected(victim: Server, host: str) -> None:
    name = host.format(port=victim.port)
    start = f"GET /v1/info HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n"

    answer = send(victim, start.encode())

    assert statuses(answer) == [421], answer[:200]


def test_no_host_or_two_are_refused(victim: Server) -> None:
    own = f"Host: {victim.host}\r\n"
    for lines in ("", own + own, own + "Host: evil.example\r\n", "Host: evil.example\r\n" + own):
        answer = send(victim, f"GET /v1/info HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
        assert statuses(answer) == [400], answer[:200]


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://evil.example/v1/info", 421),
        ("http://evil.example:{port}/v1/info", 421),
        ("http://127.0.0.1:{port}@evil.example/v1/info", 421),
        ("http://{host}.evil.example/v1/info", 421),
        ("http://{host}/v1/info", 200),
    ],
)
def test_the_absolute_form_names_a_host_too(victim: Server, target: str, status: int) -> None:
    target = target.format(port=victim.port, host=victim.host)

    answer = send(victim, head(victim, "Connection: close", start=f"GET {target} HTTP/1.1"))

    assert statuses(answer)[0] in (status, 400 if status != 200 else 200), answer[:200]


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://{host}.evil.example",
        "http://evil.example/{host}",
        "http://127.0.0.1",
        "http://{host}/",
        "file://",
        "http://{host}, http://evil.example",
        "ftp://{host}",
        "HTTP://EVIL",
    ],
)
def test_pages_of_other_sites_are_refused(victim: Server, origin: str) -> None:
    value = origin.format(host=victim.host)
    for start in ("POST /v1/run HTTP/1.1", "GET /ws HTTP/1.1", "GET /health HTTP/1.1"):
        answer = send(victim, head(victim, f"Origin: {value}", "Connection: close", start=start))
        parse_answer(answer).is_problem(403, "foreign_origin")


def test_a_preflight_gets_no_permission(victim: Server) -> None:
    for origin in ("http://evil.example", f"http://{victim.host}"):
        lines = (f"Origin: {origin}", "Access-Control-Request-Method: POST", "Connection: close")
        answer = send(victim, head(victim, *lines, start="OPTIONS /v1/run HTTP/1.1"))
        assert statuses(answer)[0] in (403, 405)
        assert b"access-control-allow" not in answer.lower()


def test_a_thousand_requests_at_once_are_answered_in_order(victim: Server) -> None:
    requests = b"".join(head(victim, start=f"GET /v1/sessions/{n} HTTP/1.1") for n in range(999))
    answer = send(victim, requests + head(victim, "Connection: close"), 60)

    assert statuses(answer) == [404] * 999 + [200]


def test_requests_after_one_that_closes_are_not_answered(victim: Server) -> None:
    answer = send(victim, head(victim, "Connection: close") + head(victim) * 5)

    assert statuses(answer) == [200]


def test_a_body_that_is_a_request_is_a_body(victim: Server) -> None:
    lines = (f"Content-Length: {len(SECOND)}", "Connection: close")

    answer = send(victim, head(victim, *lines, start="POST /v1/run HTTP/1.1") + SECOND)

    assert statuses(answer) == [400]
    assert b"invalid_json" in answer


def test_paths_in_bad_encodings_lead_nowhere(victim: Server, neighbour: Session) -> None:
    for path in ("/%ff%fe", "/%00", "/%", "/%zz", "/v1/sessions/%2e%2e/x", "/..%2f..%2fetc/passwd"):
        answer = send(victim, head(victim, "Connection: close", start=f"GET {path} HTTP/1.1"))
        assert statuses(answer)[0] in (400, 404), (path, answer[:200])
    for path in ("../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "..%2f..%2fetc/passwd", "a%00b"):
        start = f"GET {neighbour.path}/files/{path} HTTP/1.1"
        answer = send(victim, head(victim, "Connection: close", start=start))
        assert statuses(answer)[0] in (400, 404), (path, answer[:200])
        assert b"root:" not in answer
    raw = b"GET /\xff\xfe\xc0\xaf HTTP/1.1\r\nHost: " + victim.host.encode() + b"\r\n\r\n"
    with victim.socket(20) as client:
        client.sendall(raw)
        client.shutdown(socket.SHUT_WR)
        assert statuses(read_all(client))[0] in (400, 404)


def test_pages_cannot_be_framed(victim: Server) -> None:
    for path in ("/web/", "/docs"):
        answer = victim.get(path)
        assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/html")
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert "X-Frame-Options" not in victim.get("/health").headers
