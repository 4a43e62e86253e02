# SPDX-License-Identifier: Apache-2.0
"""Bad requests: each gets its documented status with code, detail and remedy, the server lives on
in the same process, and a neighbour keeps its variable."""

from __future__ import annotations

import contextlib
import json
import socket
import time

import pytest
from http_answer import Answer, parse_answer, read_all
from served import Background, Server, Session, until

pytestmark = pytest.mark.usefixtures("undisturbed")


def dribble(server: Server, prefix: bytes) -> bool:
    """Whether the server closes a connection on which one byte comes now and then."""
    with server.socket() as client, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        client.sendall(prefix)
        client.settimeout(0.3)
        end = time.monotonic() + 40
        while time.monotonic() < end:
            client.sendall(b"X")
            try:
                if client.recv(4096) == b"":
                    return True
            except TimeoutError:
                continue
        return False
    return True


@pytest.fixture(scope="module", autouse=True)
def dribblers(server: Server) -> list[Background]:
    """Slow headers, from the first test of this file to the last."""
    head = f"GET /health HTTP/1.1\r\nHost: {server.host}\r\nA".encode()
    return [Background(lambda p=prefix: dribble(server, p)) for prefix in (b"", b"G", head, head)]


def request(server: Server, line: str, headers: str = "", body: bytes = b"") -> bytes:
    head = f"{line}\r\nHost: {server.host}\r\nConnection: close\r\n{headers}\r\n"
    return head.encode("latin-1") + body


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n", id="CL and TE"
        ),
        pytest.param(
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n", id="TE and CL"
        ),
        pytest.param("Content-Length: 2\r\nContent-Length: 3\r\n", b"{}", id="two lengths"),
        pytest.param("Content-Length: -1\r\n", b"", id="negative length"),
        pytest.param("Content-Length: 0x2\r\n", b"{}", id="hexadecimal length"),
        pytest.param("Content-Length: 99999999999999999999999\r\n", b"", id="absurd length"),
        pytest.param(
            "Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n", id="chunked not last"
        ),
        pytest.param(
            "Transfer-Encoding: chunked\r\n", b"zz\r\n{}\r\n0\r\n\r\n", id="chunk size no number"
        ),
        pytest.param(
            "Transfer-Encoding: chunked\r\n", b"-2\r\n{}\r\n0\r\n\r\n", id="chunk size negative"
        ),
        pytest.param(
            "Transfer-Encoding: chunked\r\n", b"fffffffffffffffff\r\n{}\r\n", id="chunk size absurd"
        ),
        pytest.param(
            "Transfer-Encoding: chunked\r\n", b"2\r\n{}xx0\r\n\r\n", id="chunk longer than it says"
        ),
        pytest.param(
            "Transfer-Encoding: chunked\r\n", b"1\r\n{}\r\n0\r\n\r\n", id="chunk shorter than sent"
        ),
        pytest.param("Bad Header\r\n", b"", id="no colon"),
        pytest.param("A: b\r\n c: folded\r\nB\x00: x\r\n", b"", id="NUL in a name"),
        pytest.param(" Leading: x\r\n", b"", id="leading space"),
        pytest.param("Content-Length : 2\r\n", b"{}", id="space before the colon"),
    ],
)
def test_lies_about_the_length_are_400_and_the_end(
    server: Server, headers: str, body: bytes
) -> None:
    raw = server.raw(
        request(server, "POST /v1/sessions HTTP/1.1", headers, body)
        + b"GET /health HTTP/1.1\r\n\r\n"
    )

    parse_answer(raw).is_problem((400, 413))
    assert raw.count(b"HTTP/1.1 4") + raw.count(b"HTTP/1.1 2") == 1, (
        "nothing is taken for a second request"
    )


def test_a_chunk_that_never_comes_whole_harms_nobody(server: Server, target: Session) -> None:
    with server.socket() as client:
        head = f"POST {target.path}/exec HTTP/1.1\r\nHost: {server.host}\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.sendall(head.encode() + b'7fffffff\r\n{"code"')

        assert target.value("1 + 1") == "2"
    with server.socket() as client:
        client.sendall(
            request(server, f"POST {target.path}/exec HTTP/1.1", "Content-Length: 100\r\n", b"{")
        )
        client.shutdown(socket.SHUT_WR)
        answer = read_all(client)

    assert answer == b"" or parse_answer(answer).is_problem(400)


@pytest.mark.parametrize(
    "line",
    [
        "GET",
        "GET /health",
        "GET /health HTTP/9.9",
        "GET  /health HTTP/1.1",
        "GET /health FTP/1.1",
        "\x00\x01\x02",
        "GET /hea lth HTTP/1.1",
        "(GET) /health HTTP/1.1",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_not_http_is_400(server: Server, line: str) -> None:
    raw = server.raw(request(server, line))

    assert raw == b"" or parse_answer(raw).is_problem((400, 505))


def test_a_large_header_is_431(server: Server) -> None:
    for name in ("X: " + "x" * (1 << 20), "\r\n".join(f"X{n}: y" for n in range(20_000))):
        raw = server.raw(request(server, "GET /health HTTP/1.1", name + "\r\n"))
        assert raw == b"" or parse_answer(raw).is_problem((400, 431))
    raw = server.raw(request(server, "GET /" + "x" * (1 << 20) + " HTTP/1.1"))

    assert raw == b"" or parse_answer(raw).is_problem((400, 414, 431))


def test_a_header_a_little_too_large_gets_its_answer(server: Server) -> None:
    answer = server.get("/health", headers={"X": "x" * 20_000})

    answer.is_problem(431)


@pytest.mark.parametrize(
    "path", ["/v1/%zz", "/v1/%", "/v1/%4", "/%00", "/v1/sessions/%00", "*", "health"]
)
def test_a_bad_path_is_400(server: Server, path: str) -> None:
    parse_answer(server.raw(request(server, f"GET {path} HTTP/1.1"))).is_problem(400, "bad_path")


@pytest.mark.parametrize(
    "path", ["/v1/sessions/..", "/../etc/passwd", "/v1/%2e%2e/health", "/v1/sessions/ü"]
)
def test_a_path_to_nowhere_is_404(server: Server, path: str) -> None:
    raw = server.raw(request(server, f"GET {path.encode().decode('latin-1')} HTTP/1.1"))

    parse_answer(raw).is_problem((400, 404))


@pytest.mark.parametrize("query", ["?%zz=1", "?limit=%zz", "?limit=%", "?after=%00"])
def test_a_bad_query_is_refused(server: Server, target: Session, query: str) -> None:
    target.call("GET", "/executions" + query).is_problem((400, 422))


@pytest.mark.parametrize(
    "host",
    [
        "evil.com",
        "evil.com:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.com:{port}",
        "127.0.0.1:{port}.evil.com",
        "localhost:{port}@evil.com",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/v1/info", "/v1/sessions", "/nothing"])
def test_another_host_is_421(server: Server, host: str, path: str) -> None:
    text = host.replace("{port}", str(server.port))
    raw = server.raw(f"GET {path} HTTP/1.1\r\nHost: {text}\r\nConnection: close\r\n\r\n".encode())

    parse_answer(raw).is_problem((400, 421) if text == "" else 421)


@pytest.mark.parametrize(
    "headers", ["", "Host: {host}\r\nHost: {host}\r\n", "Host: {host}\r\nHost: evil\r\n"]
)
def test_exactly_one_host(server: Server, headers: str) -> None:
    text = (
        f"GET /health HTTP/1.1\r\nConnection: close\r\n{headers.replace('{host}', server.host)}\r\n"
    )

    parse_answer(server.raw(text.encode())).is_problem((400, 421))


def test_the_names_of_loopback_are_its_own(server: Server) -> None:
    for host in (f"localhost:{server.port}", f"127.0.0.1:{server.port}"):
        raw = server.raw(
            f"GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        )
        assert parse_answer(raw).status == 200


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://127.0.0.1:1", "http://{host}.evil", "file://"],
)
def test_a_foreign_origin_is_403(server: Server, target: Session, origin: str) -> None:
    headers = {"Origin": origin.replace("{host}", server.host)}

    for method, path in (
        ("GET", "/v1/info"),
        ("POST", "/v1/sessions"),
        ("POST", target.path + "/exec"),
        ("OPTIONS", "/v1/sessions"),
        ("DELETE", target.path),
    ):
        answer = server.call(method, path, headers=headers).is_problem(403, "foreign_origin")
        assert "Access-Control-Allow-Origin" not in answer.headers
    assert target.show()["state"] == "ready"


def test_the_own_origin_may(server: Server) -> None:
    assert server.get("/v1/info", headers={"Origin": f"http://{server.host}"}).status == 200


def test_no_answer_is_open_to_pages(server: Server) -> None:
    for path in ("/health", "/v1/info", "/openapi.json", "/nothing"):
        assert "Access-Control-Allow-Origin" not in server.get(path).headers


@pytest.mark.parametrize(
    "method", ["BREW", "PROPFIND", "TRACE", "CONNECT", "OPTIONS", "PATCH", "get", "X" * 100]
)
def test_an_unknown_method_is_refused(server: Server, method: str) -> None:
    raw = server.raw(request(server, f"{method} /v1/sessions HTTP/1.1"))

    parse_answer(raw).is_problem((400, 405, 501))


def test_pipelined_requests_are_answered_in_order(server: Server, target: Session) -> None:
    def one(code: str, last: bool = False) -> bytes:
        body = json.dumps({"code": code}).encode()
        head = f"POST {target.path}/exec HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + (b"Connection: close\r\n" if last else b"") + b"\r\n" + body

    raw = server.raw(one("import time; time.sleep(0.3); 'A'") + one("'B'") + one("'C'", last=True))

    assert raw.count(b"HTTP/1.1 200") == 3
    positions = [raw.index(f'"text/plain":"\'{name}\'"'.encode()) for name in "ABC"]
    assert positions == sorted(positions)


def test_a_refused_request_does_not_poison_the_next(server: Server, target: Session) -> None:
    connection = server.connection()
    statuses = []
    for body in ({"code": 1}, {"code": "1"}, {"cod": "1"}, {"code": "2"}):
        statuses.append(server.call("POST", target.path + "/exec", body, over=connection).status)
    connection.close()

    assert statuses == [422, 200, 422, 200]


def test_head_has_no_body_and_the_connection_goes_on(server: Server, target: Session) -> None:
    connection = server.connection()
    for path, status in (
        ("/health", 200),
        ("/v1/info", 200),
        (target.path, 200),
        ("/nothing", 404),
        ("/v1/run", 405),
        ("/metrics", 200),
    ):
        answer = server.call("HEAD", path, over=connection)
        assert (answer.status, answer.body) == (status, b""), path
    assert server.get("/health", over=connection).status == 200
    connection.close()


def test_an_old_client_is_served(server: Server, target: Session) -> None:
    body = b'{"code": "print(1)"}'
    head = f"POST {target.path}/exec HTTP/1.0\r\nHost: {server.host}\r\nAccept: application/x-ndjson\r\nContent-Length: {len(body)}\r\n\r\n"

    raw = server.raw(head.encode() + body)

    assert b"chunked" not in raw
    assert json.loads(raw.splitlines()[-1])["type"] == "finished"


def test_expect_100_is_answered(server: Server, target: Session) -> None:
    body = b'{"code": "42"}'
    with server.socket() as client:
        client.sendall(
            request(
                server,
                f"POST {target.path}/exec HTTP/1.1",
                f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n",
            )
        )
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(body)
        assert b'"text/plain":"42"' in read_all(client)


def test_a_body_that_is_refused_is_not_asked_for(server: Server) -> None:
    head = request(
        server,
        f"POST /v1/sessions/{'0' * 32}/exec HTTP/1.1",
        "Expect: 100-continue\r\nContent-Length: 10\r\n",
    )

    parse_answer(server.raw(head)).is_problem(404)


def test_an_absolute_target_is_understood(server: Server) -> None:
    def ask(target: str) -> Answer:
        return parse_answer(server.raw(request(server, f"GET {target} HTTP/1.1")))

    assert ask(f"http://{server.host}/health").json == {"status": "healthy"}
    ask(f"http://{server.host}/v1/sessions?limit=1").is_problem(401)
    ask("http://evil.com/v1/info").is_problem(421)
    ask("http://").is_problem(400, "bad_path")


def test_wrong_tokens_are_401_of_the_same_bytes(server: Server) -> None:
    seen = set()
    for value in (
        "",
        "Bearer",
        "Bearer ",
        "Bearer " + "0" * 64,
        "Bearer " + server.token + "x",
        "Basic !!!",
        "Basic eDp5",
        "Digest x",
    ):
        seen.add(server.get("/v1/sessions", headers={"Authorization": value}).is_problem(401).body)

    assert len(seen) == 1
    for good in (f"Bearer {server.token}",):
        assert server.get("/v1/sessions", headers={"Authorization": good}).status == 200


def test_many_silent_connections_do_not_matter(server: Server, target: Session) -> None:
    silent = [server.socket() for _ in range(300)]

    assert target.value("1 + 1") == "2"

    for one in silent:
        one.close()
    assert until(lambda: server.metrics()["vitrine_http_connections"] < 50)


def test_those_who_dribble_are_cut_off_and_disturb_nobody(
    target: Session, dribblers: list[Background]
) -> None:
    while not all(one.is_over() for one in dribblers):
        assert target.value("1 + 1") == "2"
        time.sleep(0.1)

    assert all(one.result() for one in dribblers)
