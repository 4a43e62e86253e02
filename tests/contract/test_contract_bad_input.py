# SPDX-License-Identifier: Apache-2.0
"""Bad requests: each gets its documented status with code, detail and remedy, the server lives on
in the same process, and a neighbour keeps its variable."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from served import Answer, Background, Server, Session, parse_answer, read_all, until

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def neighbour(server: Server) -> Iterator[tuple[Session, int]]:
    session = server.create(name="neighbour")
    session.run("mark = 'still here'")
    yield session, server.front()
    session.delete()


@pytest.fixture(autouse=True)
def _nothing_else_is_disturbed(server: Server, neighbour: tuple[Session, int]) -> Iterator[None]:
    yield
    session, front = neighbour
    assert server.get("/health").body == b'{"status":"healthy"}'
    assert server.front() == front, "the front died and was replaced"
    assert session.value("mark") == "'still here'"


@pytest.fixture(scope="module")
def target(server: Server) -> Iterator[Session]:
    """Takes the blows; one is enough for all, since none may reach it."""
    session = server.create()
    yield session
    session.delete()


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


def deep(depth: int) -> bytes:
    return b'{"code": ' + b"[" * depth + b"]" * depth + b"}"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        pytest.param({"code": "1", "cod": 2}, 422, "invalid_field", id="unknown field"),
        pytest.param({"Code": "1"}, 422, "invalid_field", id="field in other case"),
        pytest.param({}, 422, "invalid_field", id="no code"),
        pytest.param({"code": None}, 422, "invalid_field", id="code null"),
        pytest.param({"code": 1}, 422, "invalid_field", id="code a number"),
        pytest.param({"code": ["1"]}, 422, "invalid_field", id="code a list"),
        pytest.param({"code": {"a": 1}}, 422, "invalid_field", id="code an object"),
        pytest.param({"code": "1", "timeout_s": 0}, 422, "invalid_field", id="timeout zero"),
        pytest.param({"code": "1", "timeout_s": -1}, 422, "invalid_field", id="timeout negative"),
        pytest.param({"code": "1", "timeout_s": "1"}, 422, "invalid_field", id="timeout text"),
        pytest.param({"code": "1", "timeout_s": 1e300}, 422, "invalid_field", id="timeout huge"),
        pytest.param({"code": "1", "timeout_s": True}, 422, "invalid_field", id="timeout flag"),
        pytest.param({"code": "1", "stdin": 5}, 422, "invalid_field", id="stdin a number"),
        pytest.param({"code": "1", "env": {"A": 1}}, 422, "invalid_field", id="env number"),
        pytest.param({"code": "1", "env": ["A"]}, 422, "invalid_field", id="env list"),
        pytest.param({"code": "1", "env": {"A=B": "x"}}, 422, "invalid_field", id="env name"),
        pytest.param({"code": "1", "env": {"": "x"}}, 422, "invalid_field", id="env no name"),
        pytest.param({"code": "1", "env": {"A": "x\0y"}}, 422, "invalid_field", id="env NUL"),
        pytest.param({"code": "1", "env": {"LD_PRELOAD": "x"}}, 422, "invalid_field", id="env LD"),
        pytest.param(
            {"code": "1", "env": {f"V{n}": "" for n in range(300)}},
            422,
            "invalid_field",
            id="env many",
        ),
        pytest.param({"code": "1", "on_disconnect": "x"}, 422, "invalid_field", id="choice"),
        pytest.param({"code": "1", "capture_screenshot": 1}, 422, "invalid_field", id="flag"),
        pytest.param({"code": "x" * (9 << 20)}, (413, 422), None, id="9 MB of code"),
        pytest.param(b"", 400, "invalid_json", id="empty"),
        pytest.param(b"nonsense", 400, "invalid_json", id="no JSON"),
        pytest.param(b'{"code": "1"', 400, "invalid_json", id="cut off"),
        pytest.param(b'{"code": "1"} {}', 400, "invalid_json", id="two objects"),
        pytest.param(b'["code"]', 400, "invalid_json", id="no object"),
        pytest.param(b'"code"', 400, "invalid_json", id="a string"),
        pytest.param(b"null", 400, "invalid_json", id="null"),
        pytest.param(b"{'code': '1'}", 400, "invalid_json", id="single quotes"),
        pytest.param(b'{"code": "1",}', 400, "invalid_json", id="trailing comma"),
        pytest.param(b'{"code": NaN}', 400, "invalid_json", id="NaN"),
        pytest.param(b'{"code": "1", "code": "2"}', 400, "invalid_json", id="duplicate keys"),
        pytest.param(
            b'{"code": "1", "\\u0063ode": "2"}', 400, "invalid_json", id="duplicate, escaped"
        ),
        pytest.param(
            b'{"code": "1", "env": {"A": "1", "A": "2"}}', 400, "invalid_json", id="duplicate below"
        ),
        pytest.param(b'{"code": "\\ud800"}', 400, "invalid_json", id="lone high surrogate"),
        pytest.param(b'{"code": "\\udc00"}', 400, "invalid_json", id="lone low surrogate"),
        pytest.param(b'{"code": "\\ud800\\ud800"}', 400, "invalid_json", id="two high surrogates"),
        pytest.param(b'{"code": "\xed\xa0\x80"}', 400, "invalid_json", id="raw surrogate"),
        pytest.param(b'{"code": "\xff"}', 400, "invalid_json", id="no UTF-8"),
        pytest.param(b'{"code": "a\0b"}', 400, "invalid_json", id="raw NUL"),
        pytest.param(b'\0{"code": "1"}', 400, "invalid_json", id="NUL first"),
        pytest.param(b'{"code": "1"}\0', 400, "invalid_json", id="NUL last"),
        pytest.param(b'{"code": "a\nb"}', 400, "invalid_json", id="raw newline"),
        pytest.param(deep(100), 400, "invalid_json", id="deep"),
        pytest.param(deep(1_000_000), 400, "invalid_json", id="very deep"),
        pytest.param(b"[" * 1_000_000, 400, "invalid_json", id="deep and open"),
    ],
)
@pytest.mark.parametrize("route", ["exec", "run"])
def test_a_bad_body_of_an_execution(
    server: Server, target: Session, route: str, body: Any, status: Any, code: str | None
) -> None:
    path = target.path + "/exec" if route == "exec" else "/v1/run"

    server.post(path, body, headers=JSON).is_problem(status, code)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"nam": "x"}, id="unknown field"),
        pytest.param({"code": "1"}, id="field of another route"),
        pytest.param({"name": 1}, id="name a number"),
        pytest.param({"name": "x" * 5000}, id="name long"),
        pytest.param({"isolation": "none"}, id="isolation unknown"),
        pytest.param({"policy": "wild"}, id="policy unknown"),
        pytest.param({"seed": -1}, id="seed negative"),
        pytest.param({"seed": 1.5}, id="seed a fraction"),
        pytest.param({"seed": 1 << 70}, id="seed huge"),
        pytest.param({"seed": "7"}, id="seed text"),
        pytest.param({"packages": "polars"}, id="packages text"),
        pytest.param({"limits": 5}, id="limits number"),
        pytest.param({"limits": {"memory": 5}}, id="limits unknown"),
        *(
            pytest.param({"limits": {name: value}}, id=f"{name} {value}")
            for name in (
                "memory_mb",
                "cpus",
                "processes",
                "disk_mb",
                "output_kb",
                "exec_timeout_s",
                "idle_timeout_s",
            )
            for value in (0, -1, "1", 1e30, [1])
        ),
    ],
)
def test_a_bad_body_of_a_session(server: Server, body: Any) -> None:
    before = server.listed()

    problem = server.post("/v1/sessions", body).is_problem(422, "invalid_field").json

    assert problem["detail"].split(":")[0].split(".")[0] in body, "the detail names the field"
    assert server.listed() == before


@pytest.mark.parametrize("below", ["exec", "reset"])
def test_no_body_but_json(server: Server, target: Session, below: str) -> None:
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ):
        answer = target.call("POST", f"/{below}", b'{"code": "1"}', headers={"Content-Type": kind})
        answer.is_problem(415, "unsupported_media_type")
    answer = target.call(
        "POST",
        "/exec",
        b'{"code": "1"}',
        headers={"Content-Type": "application/json; charset=utf-8"},
    )
    assert answer.status == 200


def test_nul_in_code_is_python_s_matter(target: Session) -> None:
    execution = target.run("x = 1\0")

    assert execution["outcome"] == "exception"
    assert execution["error"]["name"] in ("ValueError", "SyntaxError")


def test_text_beyond_the_basic_plane_arrives(target: Session) -> None:
    answer = target.call(
        "POST", "/exec", b'{"code": "print(\'\\ud83c\\udf89 \\u0000x\')"}', headers=JSON
    )

    assert answer.status == 200
    assert target.run("print('🎉')")["stdout"] == "🎉\n"


def test_fifty_megabytes_of_code_are_413(server: Server, target: Session) -> None:
    before = server.resident_kb()
    body = b'{"code": "' + b"x" * (50 << 20) + b'"}'

    target.call("POST", "/exec", body, headers=JSON).is_problem(413, "too_large")
    chunks = b"".join(b"%x\r\n%s\r\n" % (1 << 20, bytes(1 << 20)) for _ in range(50))
    head = f"POST {target.path}/exec HTTP/1.1\r\nHost: {server.host}\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw = server.raw(head.encode() + chunks + b"0\r\n\r\n")

    parse_answer(raw).is_problem(413, "too_large")
    assert server.resident_kb() - before < 64 * 1024


@pytest.mark.parametrize("size", [1 << 20, 12 << 20])
def test_a_client_that_sends_all_before_it_reads_learns_why(server: Server, size: int) -> None:
    """Most clients do: closing with unread bytes would reset the connection under their feet."""
    session = server.create(limits={"disk_mb": 1})
    connection = server.connection()
    try:
        connection.request("PUT", session.path + "/files/f", bytes(size + 1))
        assert connection.getresponse().status in (413, 507)
    finally:
        connection.close()
        session.delete()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/sessions", 401),
        ("POST", "/nowhere", 404),
        ("POST", "/v1/sessions/" + "0" * 32 + "/exec", 404),
        ("PUT", "/v1/sessions/" + "0" * 32 + "/files/f", 404),
        ("PUT", "/v1/run", 405),
        ("POST", "/v1/run?x=%", 400),
        ("POST", "/v1/run", 413),
        ("POST", "/v1/sessions", 415),
    ],
)
def test_a_refused_body_does_not_cost_the_answer(
    server: Server, method: str, path: str, status: int
) -> None:
    """All of it is sent before anything is read, into a request that is refused at its first line."""
    connection = server.connection()
    kind = "application/json" if status != 415 else "text/plain"
    connection.request(method, path, bytes(24 << 20), {"Content-Type": kind})
    response = connection.getresponse()

    Answer(response.status, response.headers, response.read()).is_problem(status)
    connection.close()


def test_a_body_without_end_is_not_read_for_ever(server: Server) -> None:
    begin = time.monotonic()
    with server.socket() as client, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        client.sendall(
            f"POST /nowhere HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 99999999999\r\n\r\n".encode()
        )
        while time.monotonic() - begin < 30:
            client.sendall(bytes(1 << 16))
            time.sleep(0.01)

    assert time.monotonic() - begin < 10


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
