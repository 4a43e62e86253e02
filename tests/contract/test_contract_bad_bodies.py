# SPDX-License-Identifier: Apache-2.0
"""Bad bodies: each gets its documented status with code, detail and remedy, the server lives on in the
same process, and a neighbour keeps its variable."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from http_answer import Answer, parse_answer
from sanitizer_marks import judges_memory
from served import Server, Session

pytestmark = pytest.mark.usefixtures("undisturbed")

JSON = {"Content-Type": "application/json"}


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
                "install_timeout_s",
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


@judges_memory
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
