# SPDX-License-Identifier: Apache-2.0
"""Clients that come in crowds, close halfway, or vanish in the middle of anything."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import time
from collections.abc import Iterator

import pytest
from hostile_attacks import head, read_all, reset, statuses
from sanitizer_marks import judges_memory
from served import Server, Session, until, within


@pytest.fixture
def session(victim: Server) -> Iterator[Session]:
    one = victim.create()
    yield one
    one.delete()


def post(server: Server, path: str, body: object, *lines: str) -> bytes:
    data = json.dumps(body).encode()
    first = (f"Content-Length: {len(data)}", *lines)
    return head(server, *first, start=f"POST {path} HTTP/1.1") + data


def test_two_thousand_connections_at_once(victim: Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2300
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip("this host gives a process fewer descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    clients: list[socket.socket] = []
    try:
        for n in range(2000):
            client = victim.socket(30)
            clients.append(client)
            if n % 4 == 1:
                client.sendall(b"G")
            elif n % 4 == 2:
                client.sendall(head(victim)[:-2])
            elif n % 4 == 3:
                client.sendall(head(victim))
        begun = time.monotonic()
        assert victim.get("/health").status == 200
        assert victim.post("/v1/run", {"code": "6 * 7"}).json["results"] == [{"text/plain": "42"}]
        assert time.monotonic() - begun < 10
        assert victim.metrics()["vitrine_http_connections"] >= 2000
        for client in clients[3::400]:
            assert statuses(client.recv(4096)) == [200]
    finally:
        for n, client in enumerate(clients):
            if n % 2:
                reset(client)
            else:
                client.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_connections_that_come_and_go_leave_nothing(victim: Server) -> None:
    for n in range(1500):
        client = victim.socket(30)
        if n % 3 == 1:
            client.sendall(head(victim))
        if n % 2:
            reset(client)
        else:
            client.close()


def test_a_half_closed_client_still_gets_its_answer(victim: Server) -> None:
    with victim.socket(20) as client:
        client.sendall(head(victim, start="GET /v1/info HTTP/1.1"))
        client.shutdown(socket.SHUT_WR)
        assert statuses(read_all(client)) == [200]


def test_a_body_that_ends_early_is_refused(victim: Server) -> None:
    for line, body in (
        ("Content-Length: 100", b'{"code": "1"}'),
        ("Transfer-Encoding: chunked", b'd\r\n{"code": "1"}\r\n'),
        ("Transfer-Encoding: chunked", b"ff\r\n{"),
    ):
        with victim.socket(20) as client:
            client.sendall(head(victim, line, start="POST /v1/run HTTP/1.1") + body)
            client.shutdown(socket.SHUT_WR)
            assert statuses(read_all(client)) == [400]


@pytest.mark.parametrize("how", ["close", "reset", "half"])
@pytest.mark.parametrize("where", ["head", "body", "upload", "exec", "stream", "run", "download"])
def test_who_vanishes_is_forgotten(victim: Server, session: Session, where: str, how: str) -> None:
    slow = {"code": "print('x', flush=True)\nimport time\ntime.sleep(60)"}
    if where == "download":
        session.run("open('big', 'wb').truncate(100 << 20)")
    request = {
        "head": head(victim)[:-4],
        "body": post(victim, session.path + "/exec", {"code": "1" * 5000})[:-3000],
        "upload": head(
            victim, "Content-Length: 1000000", start=f"PUT {session.path}/files/up HTTP/1.1"
        )
        + b"x" * 70_000,
        "exec": post(victim, session.path + "/exec", slow),
        "stream": post(victim, session.path + "/exec", slow, "Accept: application/x-ndjson"),
        "run": post(victim, "/v1/run", slow),
        "download": head(victim, start=f"GET {session.path}/files/big HTTP/1.1"),
    }[where]

    client = victim.socket(20)
    client.sendall(request)
    if where in ("exec", "stream"):
        assert until(session.is_running, 20)
    if where in ("stream", "download"):
        client.recv(100)
    if where == "run":
        time.sleep(0.1)
    if how == "half":
        client.shutdown(socket.SHUT_WR)
        if where == "download":
            reset(client)
        else:
            read_all(client)
    if how == "reset":
        reset(client)
    client.close()

    assert within(lambda: not session.is_running(), 20), "it goes on for nobody"
    assert "up" not in session.names()


@judges_memory
def test_who_reads_nothing_is_not_buffered(victim: Server, session: Session) -> None:
    session.run("open('big', 'wb').truncate(200 << 20)")
    before = victim.resident_kb()
    clients = [victim.socket(20) for _ in range(8)]
    for client in clients[:4]:
        client.sendall(head(victim, start=f"GET {session.path}/files/big HTTP/1.1"))
    for client in clients[4:6]:
        client.sendall(head(victim, start="GET /v1/info HTTP/1.1") * 3000)
    flood = {"code": "while True: print('x' * 10000)", "timeout_s": 3}
    for client in clients[6:]:
        client.sendall(post(victim, session.path + "/exec", flood, "Accept: application/x-ndjson"))
    with contextlib.suppress(TimeoutError):
        clients[6].settimeout(0.5)
        clients[6].recv(10)
    time.sleep(1)
    grown = victim.resident_kb() - before
    for client in clients:
        reset(client)

    assert grown < 64 * 1024, f"{grown} KiB"
    assert until(lambda: not session.is_running(), 20)


def test_refused_bodies_are_not_kept(victim: Server) -> None:
    before = victim.resident_kb()
    for _ in range(5):
        with victim.socket(20) as client:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(
                    head(victim, f"Content-Length: {1 << 40}", start="POST /v1/run HTTP/1.1")
                )
                client.sendall(os.urandom(1 << 20))
            answer = client.recv(4096)
            assert statuses(answer) == [413]
    assert victim.resident_kb() - before < 32 * 1024


def test_a_history_of_large_outputs_comes_in_bounded_pages(victim: Server) -> None:
    session = victim.create()
    for _ in range(12):
        session.run("print('x' * 1_000_000)")

    first = session.call("GET", "/executions?limit=500")

    assert first.status == 200 and first.json["next"] is not None
    assert len(first.body) < 6 << 20
    assert len(session.history()) == 12
    assert session.delete().status == 204
