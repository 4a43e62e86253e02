# SPDX-License-Identifier: Apache-2.0
"""Several tokens: what one identity makes does not exist for another, on any route, and each has
its own quotas."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Background, family, until, within
from tenants import MISSING, SECRETS, Caller, Tenants


@pytest.fixture(scope="module")
def tenants() -> Iterator[Tenants]:
    one = Tenants("--auth", "token")
    yield one
    one.end()


@pytest.fixture
def of_a(tenants: Tenants) -> Iterator[str]:
    session = tenants.a.create(name="of a")
    yield session
    assert tenants.a.delete(session) in (204, 404)


def operations(server: Caller) -> list[tuple[str, str]]:
    paths = server.call("GET", "/openapi.json").json["paths"]
    found = [
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if method in ("get", "post", "put", "delete", "patch", "head")
    ]
    assert len(found) > 40
    return found


def filled(path: str, session: str) -> str:
    path = path.replace("{id}", session).replace("{path...}", "x.txt").replace("{path}", "x.txt")
    while "{" in path:
        path = path[: path.index("{")] + MISSING + path[path.index("}") + 1 :]
    return path


def body_for(method: str, path: str) -> Any:
    if method == "PUT":
        return b"bytes"
    if method == "POST" and path.endswith("/exec"):
        return {"code": "1"}
    return {} if method == "POST" else None


def test_what_belongs_to_another_is_missing_on_every_route(tenants: Tenants, of_a: str) -> None:
    assert tenants.a.exec(of_a, "open('x.txt', 'w').write('mine'); mark = 5").status == 200
    below = [one for one in operations(tenants.owner) if "{id}" in one[1]]
    assert len(below) >= 12, below

    for method, path in below:
        body = body_for(method, path)
        foreign = tenants.b.call(method, filled(path, of_a), body)
        missing = tenants.b.call(method, filled(path, MISSING), body)
        assert missing.status == 404, (method, path, missing)
        assert (foreign.status, foreign.body) == (missing.status, missing.body), (method, path)
        kept = ("Content-Type", "Content-Length", "Connection")
        assert [foreign.headers[k] for k in kept] == [missing.headers[k] for k in kept]

    assert tenants.a.exec(of_a, "mark").json["results"] == [{"text/plain": "5"}]
    assert tenants.a.call("GET", f"/v1/sessions/{of_a}/files/x.txt").body == b"mine"
    assert len(tenants.a.call("GET", f"/v1/sessions/{of_a}/executions").json["executions"]) == 2


def test_films_belong_to_who_made_the_session_also_after_its_end(
    tenants: Tenants, of_a: str
) -> None:
    made = tenants.a.call("POST", f"/v1/sessions/{of_a}/recordings", {"fps": 5})
    assert made.status == 201, made
    film = f"/v1/sessions/{of_a}/recordings/{made.json['id']}"
    mine = tenants.b.create()
    foreign = [("GET", film), ("POST", film + "/stop"), ("DELETE", film),
               ("GET", f"/v1/sessions/{of_a}/recordings"),
               ("GET", f"/v1/sessions/{mine}/recordings/{made.json['id']}"),
               ("DELETE", f"/v1/sessions/{mine}/recordings/{made.json['id']}")]  # fmt: skip

    for _ in ("while it lives", "afterwards"):
        for method, path in foreign:
            answer = tenants.b.call(method, path, {} if method == "POST" else None)
            assert answer.status == 404, (method, path, answer)
        assert tenants.a.call("GET", film).status == 200
        tenants.a.call("POST", film + "/stop", {})
        tenants.a.delete(of_a)
    assert tenants.b.delete(mine) == 204
    assert tenants.a.call("DELETE", film).status == 204
    assert tenants.a.call("GET", film).status == 404


def test_the_owner_sees_and_ends_everything(tenants: Tenants) -> None:
    session = tenants.a.create()
    assert tenants.owner.exec(session, "1 + 1").json["results"] == [{"text/plain": "2"}]
    assert session in tenants.owner.listed()
    assert tenants.owner.delete(session) == 204
    assert tenants.a.call("GET", f"/v1/sessions/{session}").status == 404


def test_what_the_owner_makes_is_the_owners(tenants: Tenants) -> None:
    session = tenants.owner.create()
    tenants.a.call("GET", f"/v1/sessions/{session}").is_problem(404, "not_found")
    assert tenants.owner.delete(session) == 204


def test_lists_show_ones_own(tenants: Tenants, of_a: str) -> None:
    of_b = tenants.b.create()
    assert tenants.a.listed() == [of_a]
    assert tenants.b.listed() == [of_b]
    assert {of_a, of_b} <= set(tenants.owner.listed())
    assert tenants.a.info()["sessions"] == 1
    assert tenants.b.delete(of_b) == 204
    assert tenants.b.listed() == []


def test_nothing_but_health_is_open_without_a_token(tenants: Tenants) -> None:
    wrong = Caller(tenants.server, "a-secret-that-nobody-has")
    for method, path in operations(tenants.owner):
        for caller in (tenants.nobody, wrong):
            answer = caller.call(method, filled(path, MISSING), body_for(method, path))
            if path == "/health":
                assert answer.status == 200
            else:
                answer.is_problem(401, "token_needed")
                assert answer.headers["WWW-Authenticate"]
    wrong.call("GET", "/no/such/address").is_problem(401, "token_needed")


def test_a_websocket_needs_the_token_too(tenants: Tenants) -> None:
    head = (
        f"GET /ws HTTP/1.1\r\nHost: {tenants.server.host}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    )
    for token, status in ((None, 401), ("wrong-but-long-enough", 401), (SECRETS["a"], 101)):
        line = f"Authorization: Bearer {token}\r\n" if token else ""
        with tenants.server.socket() as client:
            client.sendall((head + line + "\r\n").encode())
            assert client.recv(4096).split()[1] == str(status).encode()
            client.shutdown(socket.SHUT_RDWR)
    assert until(lambda: tenants.a.listed() == [])


@pytest.mark.parametrize("way", ["bearer", "header", "password", "user"])
def test_a_token_counts_in_every_way_it_may_be_sent(tenants: Tenants, way: str) -> None:
    def basic(text: str) -> str:
        return "Basic " + base64.b64encode(text.encode()).decode()

    headers = {
        "bearer": {"Authorization": f"Bearer {SECRETS['b']}"},
        "header": {"X-Vitrine-Token": SECRETS["b"]},
        "password": {"Authorization": basic(f"any:{SECRETS['b']}")},
        "user": {"Authorization": basic(f"{SECRETS['b']}:")},
    }[way]
    answer = tenants.server.call("GET", "/v1/sessions", headers=headers)
    assert answer.status == 200, answer


def test_metrics_are_for_the_owner(tenants: Tenants) -> None:
    assert tenants.owner.call("GET", "/metrics").status == 200
    tenants.a.call("GET", "/metrics").is_problem(403, "owner_only")


def test_openenv_environments_are_apart(tenants: Tenants) -> None:
    a, b = tenants.a, tenants.b
    assert a.call("POST", "/reset", {}).status == 200
    stepped = a.call("POST", "/step", {"action": {"code": "mark = 'of a'"}})
    assert stepped.status == 200, stepped
    stolen = b.call("POST", "/step", {"action": {"code": "print(mark)"}})
    assert stolen.status == 200 and b"of a" not in stolen.body, stolen
    assert b"NameError" in stolen.body
    cookie = a.call("POST", "/reset", {}).headers["Set-Cookie"].split(";")[0]
    a.call("POST", "/step", {"action": {"code": "mark = 'of a'"}}, Cookie=cookie)
    stolen = b.call("POST", "/step", {"action": {"code": "print(mark)"}}, Cookie=cookie)
    assert b"of a" not in stolen.body, stolen

    a.call("POST", "/web/step", {"action": {"code": "mark = 'of a'"}})
    assert b"of a" not in b.call("POST", "/web/step", {"action": {"code": "print(mark)"}}).body

    def rpc(caller: Caller, method: str, **params: Any) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return dict(caller.call("POST", "/mcp", request).json)

    made = rpc(a, "openenv/session/create")["result"]["session_id"]
    foreign = rpc(b, "openenv/session/close", session_id=made)
    assert foreign["error"]["message"] == f"Unknown session_id: {made}"
    assert rpc(a, "openenv/session/close", session_id=made)["result"]["closed"] is True
    for caller in (a, b):
        for session in caller.listed():
            caller.delete(session)


def test_sessions_at_once(tenants: Tenants) -> None:
    few = tenants.few
    first, second = few.create(), few.create()
    refused = few.call("POST", "/v1/sessions", {})
    refused.is_problem(429, "quota_sessions")
    few.call("POST", "/v1/run", {"code": "1"}).is_problem(429, "quota_sessions")
    assert few.call("POST", "/step", {"action": {"code": "1"}}).status == 503
    tenants.a.delete(tenants.a.create())  # others are not concerned

    assert few.delete(first) == 204
    assert few.call("POST", "/v1/run", {"code": "1"}).status == 200
    third = few.create()
    few.call("POST", "/v1/sessions", {}).is_problem(429, "quota_sessions")
    for session in (second, third):
        assert few.delete(session) == 204


def test_sessions_at_once_hold_for_creations_at_once(tenants: Tenants) -> None:
    few = tenants.few
    tasks = [Background(lambda: few.call("POST", "/v1/sessions", {})) for _ in range(12)]
    answers = [task.result() for task in tasks]
    assert sorted(one.status for one in answers) == [201, 201] + [429] * 10
    for session in few.listed():
        assert few.delete(session) == 204


def test_memory_of_all_sessions_together(tenants: Tenants) -> None:
    small = tenants.small
    first = small.create()  # 512 MiB and 256 MiB of files
    refused = small.call("POST", "/v1/sessions", {})
    refused.is_problem(429, "quota_memory")
    assert "768 MiB" in refused.json["detail"]
    second = small.create(limits={"memory_mb": 128, "disk_mb": 128})
    small.call("POST", "/v1/run", {"code": "1"}).is_problem(429, "quota_memory")
    for session in (first, second):
        assert small.delete(session) == 204
    assert small.delete(small.create()) == 204


def test_executions_per_minute(tenants: Tenants) -> None:
    slow = tenants.slow
    session = slow.create()
    assert [slow.exec(session, "1").status for _ in range(3)] == [200] * 3
    assert slow.call("POST", "/v1/run", {"code": "1"}).status == 200
    for refused in (
        slow.exec(session, "1"),
        slow.call("POST", "/v1/run", {"code": "1"}),
        slow.call("POST", "/v1/sessions", {}),
    ):
        refused.is_problem(429, "rate_limited")
        assert 1 <= int(refused.headers["Retry-After"]) <= 12
    assert slow.call("GET", f"/v1/sessions/{session}").status == 200
    assert slow.delete(session) == 204


def test_runs_are_in_no_list_and_their_shells_are_not_used_again(tenants: Tenants) -> None:
    before = tenants.owner.info()["pools"]["recycled"]
    run = Background(
        lambda: tenants.a.call("POST", "/v1/run", {"code": "import time; time.sleep(0.5)"})
    )
    assert until(lambda: tenants.owner.info()["sessions"] > 0 or run.is_over())
    assert tenants.a.listed() == []
    assert run.result().status == 200
    for _ in range(3):
        assert tenants.b.call("POST", "/v1/run", {"code": "1"}).status == 200
    assert tenants.owner.info()["pools"]["recycled"] <= before

    assert tenants.owner.call("POST", "/v1/run", {"code": "1"}).status == 200
    assert within(lambda: tenants.owner.info()["pools"]["recycled"] > 0, 10), "not even the owner's"


def test_owners_and_quotas_survive_a_restart_of_the_front(tenants: Tenants) -> None:
    kept = [tenants.few.create(name="kept"), tenants.few.create()]
    assert tenants.few.exec(kept[0], "mark = 7").status == 200
    dead = tenants.owner.info()["processes"]["front"]
    os.kill(dead, signal.SIGKILL)

    def another() -> bool:
        try:
            return bool(tenants.owner.info()["processes"]["front"] != dead)
        except OSError:
            return False

    assert until(another)
    assert sorted(tenants.few.listed()) == sorted(kept)
    assert tenants.few.exec(kept[0], "mark").json["results"] == [{"text/plain": "7"}]
    assert tenants.b.call("GET", f"/v1/sessions/{kept[0]}").status == 404
    tenants.few.call("POST", "/v1/sessions", {}).is_problem(429, "quota_sessions")
    for session in kept:
        assert tenants.few.delete(session) == 204


def test_tokens_are_nowhere_to_be_read(tenants: Tenants) -> None:
    tenants.a.call("GET", "/v1/sessions", X_Unknown="1")
    texts = [tenants.server.read_log().encode(), json.dumps(tenants.a.info()).encode()]
    for pid, _ in family(tenants.server.process.pid):
        for name in ("cmdline", "environ"):
            try:
                texts.append(Path(f"/proc/{pid}/{name}").read_bytes())
            except OSError:
                continue
    texts += [one.read_bytes() for one in tenants.server.data.glob("*") if one.is_file()]
    for secret in SECRETS.values():
        assert not any(secret.encode() in text for text in texts)


def test_on_an_open_loopback_nobody_owns_what_nobody_made() -> None:
    tenants = Tenants()
    try:
        mine, of_a = tenants.nobody.create(), tenants.a.create()
        assert tenants.nobody.exec(mine, "1").status == 200
        tenants.nobody.call("GET", f"/v1/sessions/{of_a}").is_problem(404, "not_found")
        tenants.a.call("GET", f"/v1/sessions/{mine}").is_problem(404, "not_found")
        assert set(tenants.owner.listed()) == {mine, of_a}
        assert tenants.a.listed() == [of_a]
        tenants.nobody.call("GET", "/v1/sessions").is_problem(401, "token_needed")
        # A token that is known to nobody is a mistake, not an anonymous visit.
        wrong = Caller(tenants.server, "a-secret-that-nobody-has")
        wrong.call("POST", "/v1/sessions", {}).is_problem(401, "token_needed")
        assert wrong.call("GET", "/health").status == 200
        tenants.server.stop()
    finally:
        tenants.end()
