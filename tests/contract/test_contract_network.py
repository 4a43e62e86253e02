# SPDX-License-Identifier: Apache-2.0
"""Sessions with a network: what stock HTTP clients inside reach through the proxy, what they do not,
and that each decision is in the record. All servers are on loopback addresses of this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from origins import CLOSED, OPEN, Origin, listening, proxies, raw
from served import Server, Session, family, until, within

PROXY = "127.0.0.1:3128"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server("--egress-allow-private", "127.77.0.0/16")
    with one.must_end_cleanly():
        yield one


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    with listening(OPEN) as one:
        yield one


@pytest.fixture(scope="module")
def inner() -> Iterator[Origin]:
    """What sessions must never reach."""
    with listening(CLOSED) as one:
        yield one
        assert one.seen == []


@pytest.fixture
def online(create: Callable[..., Session], origin: Origin) -> Session:
    return create(network={"allow": [origin.name]})


CLIENTS = {
    "urllib": "import urllib.request\nprint(urllib.request.urlopen('http://{0}/a?b=1', timeout=30).read().decode())",
    "requests": "import requests\nprint(requests.get('http://{0}/a?b=1', timeout=30).text)",
    "httpx": "import httpx\nprint(httpx.get('http://{0}/a?b=1', timeout=30).text)",
    "tunnel": (
        "import http.client\nc = http.client.HTTPConnection('127.0.0.1', 3128, timeout=30)\n"
        "c.set_tunnel('{0}')\nc.request('GET', '/a?b=1')\nprint(c.getresponse().read().decode())"
    ),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_stock_clients_find_the_way_out(online: Session, origin: Origin, client: str) -> None:
    execution = online.run(CLIENTS[client].format(origin.name))

    assert execution["stdout"] == "hello \n", execution
    (entry,) = execution["network"]
    assert (entry["host"], entry["port"], entry["decision"]) == (OPEN, origin.port, "allowed")
    assert entry["address"] == OPEN
    assert entry["reason"] == f"rule {origin.name}"
    assert entry["sent"] > 50 and entry["received"] > 50, entry
    assert origin.seen[-1][1] == "/a?b=1"


def test_the_server_sees_no_trace_of_the_proxy(online: Session, origin: Origin) -> None:
    code = (
        "import requests\n"
        f"r = requests.post('http://{origin.name}/form', data=b'abc', timeout=30,\n"
        "    headers={'Proxy-Authorization': 'x', 'Connection': 'X-Hop', 'X-Hop': '1', 'X-Mine': '2'})\n"
        "print(r.text)"
    )

    assert online.run(code)["stdout"] == "hello abc\n"

    method, path, headers, body = origin.seen[-1]
    assert (method, path, body) == ("POST", "/form", b"abc")
    assert headers["Host"] == origin.name
    assert headers["Connection"] == "close"
    assert headers["X-Mine"] == "2"
    assert not {"Proxy-Authorization", "X-Hop", "Proxy-Connection"} & headers.keys()


def test_large_answers_come_whole_and_are_counted(online: Session, origin: Origin) -> None:
    execution = online.run(
        f"import requests; len(requests.get('http://{origin.name}/big', timeout=60).content)"
    )

    assert execution["results"] == [{"text/plain": "3000000"}], execution
    assert execution["network"][0]["received"] > 3_000_000


def test_a_session_without_a_network_has_no_way_out_and_no_proxy(
    server: Server, create: Callable[..., Session], origin: Origin
) -> None:
    sealed = create()

    execution = sealed.run(
        "import socket\n"
        f"for where in (('127.0.0.1', 3128), ('{OPEN}', {origin.port})):\n"
        "    try: socket.create_connection(where, 5)\n"
        "    except OSError as e: print(type(e).__name__)\n"
        "import os; print([k for k in os.environ if 'proxy' in k.lower()])"
    )

    assert execution["stdout"] == "ConnectionRefusedError\nConnectionRefusedError\n[]\n"
    assert "network" not in execution and "network" not in sealed.show()
    assert proxies(server) == []


def test_there_is_no_way_beside_the_proxy(online: Session, origin: Origin) -> None:
    code = (
        "import socket\n"
        f"for family, kind, where in ((2, 1, ('{OPEN}', {origin.port})), (2, 1, ('1.1.1.1', 80)),\n"
        "    (10, 1, ('2606:4700::1111', 80)), (2, 2, ('8.8.8.8', 53)), (2, 3, ('8.8.8.8', 0))):\n"
        "    try:\n"
        "        s = socket.socket(family, kind); s.settimeout(5); s.connect(where); s.send(b'x'); print('out')\n"
        "    except OSError as e: print('no')\n"
    )

    execution = online.run(code)

    assert execution["stdout"] == "no\n" * 5, execution
    assert execution["network"] == []


REFUSED = {
    "urllib": "import urllib.request\ntry: urllib.request.urlopen('https://{0}/', timeout=30)\nexcept OSError as e: print(e)",
    "requests": "import requests\ntry: requests.get('https://{0}/', timeout=30)\nexcept OSError as e: print(e)",
    "httpx": "import httpx\ntry: httpx.get('https://{0}/', timeout=30)\nexcept httpx.HTTPError as e: print(e)",
    "plain": "import requests; r = requests.get('http://{0}/', timeout=30); print(r.status_code, r.text)",
}


@pytest.mark.parametrize("client", REFUSED)
def test_a_refusal_tells_the_code_why(online: Session, client: str) -> None:
    execution = online.run(REFUSED[client].format("example.com:8443"))

    assert "403" in execution["stdout"], execution
    assert "example.com:8443 is not in this session's network.allow" in execution["stdout"]
    entry = execution["network"][0]
    assert (entry["host"], entry["port"], entry["decision"]) == ("example.com", 8443, "refused")
    assert (entry["address"], entry["sent"], entry["received"]) == (None, 0, 0)


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", CLOSED, "169.254.169.254", "10.0.0.1", "[::1]", "0.0.0.0"]
)
def test_what_is_private_is_refused_also_when_a_rule_names_it(
    server: Server, create: Callable[..., Session], inner: Origin, host: str
) -> None:
    where = f"{host}:{inner.port}"
    session = create(network={"allow": [where]})

    execution = session.run(raw(f"CONNECT {where} HTTP/1.1\r\n\r\n".encode()))

    assert execution["stdout"].startswith("HTTP/1.1 403 "), execution
    assert "sessions reach public addresses only" in execution["stdout"]
    assert execution["network"][0]["decision"] == "refused"


@pytest.mark.parametrize(
    "host",
    ["127.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001", "127.0.0.1.", "localhost.",
     "[::ffff:7f58:1]", "[::ffff:127.88.0.1]", "[0:0:0:0:0:0:0:1]", "[::1%25lo]", "loc%61lhost",
     "user@localhost", "localhost\\@example.com", "*.localhost", "\u24db\u24de\u24d2alhost"],
)  # fmt: skip
def test_odd_spellings_of_private_hosts_lead_nowhere(
    create: Callable[..., Session], inner: Origin, host: str
) -> None:
    session = create(network={"allow": [f"localhost:{inner.port}", f"127.0.0.1:{inner.port}"]})

    for request in (
        f"CONNECT {host}:{inner.port} HTTP/1.1\r\n\r\n",
        f"GET http://{host}:{inner.port}/ HTTP/1.1\r\n\r\n",
    ):
        execution = session.run(raw(request.encode()))
        assert execution["stdout"][:13] in ("HTTP/1.1 400 ", "HTTP/1.1 403 "), execution
        assert [e["decision"] for e in execution["network"]] == ["refused"]


def test_a_redirect_is_not_followed_for_the_client(
    online: Session, origin: Origin, inner: Origin
) -> None:
    execution = online.run(
        "import requests\n"
        f"r = requests.get('http://{origin.name}/to/http://{inner.name}/', timeout=30)\n"
        "print(r.status_code, [h.status_code for h in r.history])"
    )

    assert execution["stdout"] == "403 [302]\n", execution
    assert [e["decision"] for e in execution["network"]] == ["allowed", "refused"]


SMUGGLED = {
    "two lengths": b"Content-Length: 3\r\nContent-Length: 40\r\n\r\nabc",
    "a length and a coding": b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a coding with a tab": b"Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": b"Content-Length : 3\r\n\r\nabc",
    "a folded line": b"X: 1\r\n Content-Length: 3\r\n\r\nabc",
    "a bare line feed": b"X: 1\nContent-Length: 3\r\n\r\nabc",
    "a bare carriage return": b"X: 1\rContent-Length: 3\r\n\r\nabc",
    "a length for the proxy alone": b"Connection: Content-Length\r\nContent-Length: 3\r\n\r\nabc",
}


@pytest.mark.parametrize("how", SMUGGLED)
def test_ambiguous_requests_are_refused(online: Session, origin: Origin, how: str) -> None:
    before = len(origin.seen)

    execution = online.run(
        raw(b"POST http://%b/ HTTP/1.1\r\n" % origin.name.encode() + SMUGGLED[how])
    )

    assert execution["stdout"][:13] in ("HTTP/1.1 400 ", "HTTP/1.1 501 "), execution
    assert len(origin.seen) == before


def test_a_second_request_behind_the_first_reaches_nobody(online: Session, origin: Origin) -> None:
    before = len(origin.seen)
    name = origin.name.encode()
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: inner.example\r\n\r\n"

    execution = online.run(raw(b"GET http://%b/first HTTP/1.1\r\n\r\n" % name + smuggled))

    assert "hello" in execution["stdout"]
    assert [path for _, path, _, _ in origin.seen[before:]] == ["/first"]


def test_an_idle_connection_is_told_again_by_the_execution_that_uses_it(
    online: Session, origin: Origin
) -> None:
    opened = online.run(
        "import http.client\nc = http.client.HTTPConnection('127.0.0.1', 3128, timeout=30)\n"
        f"c.set_tunnel('{origin.name}')\nc.request('GET', '/1'); c.getresponse().read()"
    )
    silent = online.run("1")
    used = online.run("c.request('POST', '/2', b'y' * 1000); c.getresponse().read(); c.close()")

    assert len(opened["network"]) == 1 and silent["network"] == []
    (entry,) = used["network"]
    assert entry["reason"] == "open since an earlier execution"
    assert 1000 < entry["sent"] < 2000, entry


def test_a_thousand_connections_are_bounded_and_counted(
    server: Server, online: Session, origin: Origin
) -> None:
    code = (
        "import socket, concurrent.futures as f\n"
        "def one(n):\n"
        "    with socket.create_connection(('127.0.0.1', 3128), 60) as s:\n"
        "        s.sendall(b'CONNECT no.example:443 HTTP/1.1\\r\\n\\r\\n')\n"
        "        return s.recv(12)\n"
        "with f.ThreadPoolExecutor(32) as pool:\n"
        "    print(sum(a == b'HTTP/1.1 403' for a in pool.map(one, range(1000))))\n"
    )

    execution = online.run(code, timeout_s=60)

    assert execution["stdout"] == "1000\n", execution
    assert len(execution["network"]) == 100
    assert execution["network_omitted"] == 900
    (proxy,) = proxies(server)
    assert len(os.listdir(f"/proc/{proxy}/fd")) < 100


def test_silent_connections_do_not_keep_others_out_for_long(
    online: Session, origin: Origin
) -> None:
    code = (
        "import socket, requests\n"
        "held = [socket.create_connection(('127.0.0.1', 3128), 30) for _ in range(100)]\n"
        "for s in held[:64]: s.sendall(b'GET http://')\n"
        f"print(requests.get('http://{origin.name}/', timeout=60).text)\n"
    )

    execution = online.run(code, timeout_s=60)

    assert execution["stdout"] == "hello \n", execution
    assert "the head of the request took too long" in {e["reason"] for e in execution["network"]}


def test_a_killed_proxy_is_replaced_with_a_note(
    server: Server, online: Session, origin: Origin
) -> None:
    get = f"import requests; print(requests.get('http://{origin.name}/', timeout=30).text)"
    assert online.run(get)["stdout"] == "hello \n"
    (old,) = proxies(server)

    os.kill(old, signal.SIGKILL)
    assert until(lambda: proxies(server) not in ([], [old]))
    execution = online.run(get)

    assert execution["stdout"] == "hello \n"
    assert [n.partition(":")[0] for n in execution["notes"]] == ["network_proxy_restarted"]
    assert online.run(get)["notes"] == []


def test_a_proxy_that_dies_again_and_again_is_given_up(server: Server, online: Session) -> None:
    for _ in range(5):
        (pid,) = until(lambda: proxies(server))
        os.kill(pid, signal.SIGKILL)
        assert until(lambda pid=pid: pid not in proxies(server))

    def noted() -> bool:
        names = {n.partition(":")[0] for n in online.run("1")["notes"]}
        return "network_proxy_gone" in names

    assert until(noted)
    execution = online.run("import socket; socket.create_connection(('127.0.0.1', 3128), 5)")
    assert execution["error"]["name"] == "ConnectionRefusedError"


def test_the_front_may_die_and_the_record_goes_on(
    server: Server, online: Session, origin: Origin
) -> None:
    get = f"import requests; print(requests.get('http://{origin.name}/', timeout=30).text)"
    assert len(online.run(get)["network"]) == 1
    rules = online.show()["network"]

    server.kill_front()
    execution = online.run(get)

    assert execution["stdout"] == "hello \n"
    assert [e["decision"] for e in execution["network"]] == ["allowed"]
    assert online.show()["network"] == rules == {"allow": [origin.name]}


@pytest.mark.parametrize("files", ["wipe", "keep"])
def test_a_reset_session_has_a_network_and_one_proxy(
    server: Server, online: Session, origin: Origin, files: str
) -> None:
    get = f"import requests; print(requests.get('http://{origin.name}/', timeout=30).text)"
    online.run(get)
    (old,) = proxies(server)

    answer = online.call("POST", "/reset", {"files": files})
    execution = online.run(get)

    assert answer.status == 200, answer
    assert execution["stdout"] == "hello \n", execution
    assert len(execution["network"]) == 1
    (new,) = until(lambda: len(proxies(server)) == 1 and proxies(server))
    assert new != old


def test_a_one_shot_has_a_network_and_leaves_nothing(server: Server, origin: Origin) -> None:
    code = f"import requests; print(requests.get('http://{origin.name}/', timeout=30).text)"

    for _ in range(5):
        answer = server.post("/v1/run", {"code": code, "network": {"allow": [origin.name]}})
        assert answer.json["stdout"] == "hello \n", answer
        assert answer.json["network"][0]["decision"] == "allowed"
    sealed = server.post("/v1/run", {"code": "import os; print('HTTP_PROXY' in os.environ)"})

    assert sealed.json["stdout"] == "False\n"
    assert "network" not in sealed.json
    assert proxies(server) == []


def test_the_proxy_has_a_user_id_of_its_own_and_no_privilege(
    server: Server, online: Session
) -> None:
    online.run(raw(b"CONNECT no.example:443 HTTP/1.1\r\n\r\n"))  # it answers, so it is sealed
    (pid,) = proxies(server)
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if ":\t" in line
    )

    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    if os.geteuid() == 0:
        others = {os.stat(f"/proc/{one}").st_uid for one in (server.front(), online.worker())}
        assert int(status["Uid"].split()[0]) not in {0, *others}
        assert set(status["CapEff"].strip()) == {"0"} and set(status["CapPrm"].strip()) == {"0"}
    targets = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    assert sum(t == "/dev/null" for t in targets) == 3
    assert all(
        t.startswith(("/dev/null", "socket:", "anon_inode:", "/memfd:egress")) for t in targets
    )


def test_decisions_are_counted_and_logged(server: Server, online: Session) -> None:
    name = 'vitrine_egress_decisions_total{decision="refused"}'
    before = server.metrics()[name]

    online.run(raw(b"CONNECT counted.example:443 HTTP/1.1\r\n\r\n"))

    assert server.metrics()[name] == before + 1
    line = next(one for one in server.read_log().splitlines() if "counted.example" in one)
    assert f"session={online.id}" in line and "decision=refused" in line


@pytest.mark.parametrize(
    ("network", "about"),
    [
        ({}, "network.allow"),
        ({"allow": []}, "network.allow"),
        ({"allow": ["a.org"] * 65}, "network.allow"),
        ({"allow": ["*"]}, "would allow every host"),
        ({"allow": ["*.org"]}, "top-level domain"),
        ({"allow": ["http://a.org"]}, "no scheme"),
        ({"allow": ["127.1"]}, "127.1"),
        ({"allow": ["a.org:0"]}, "port"),
        ({"allow": [7]}, "no string"),
        ({"allow": "a.org"}, "network.allow"),
        ({"allow": ["a.org"], "private": ["10.0.0.0/8"]}, "network.private"),
        ("a.org", "network"),
    ],
)
def test_rules_that_are_none_are_refused(server: Server, network: Any, about: str) -> None:
    for path, more in (("/v1/sessions", {}), ("/v1/run", {"code": "1"})):
        answer = server.post(path, {"network": network, **more}).is_problem(422)
        assert about in answer.json["detail"], answer


def test_a_server_may_let_nobody_out(start_server: Callable[..., Server]) -> None:
    server = start_server("--egress", "off")

    answer = server.post("/v1/sessions", {"network": {"allow": ["example.org"]}}).is_problem(422)

    assert "lets no session out" in answer.json["detail"]
    assert "--egress on" in answer.json["remedy"]
    assert server.info()["egress"] == {"on": False, "proxies": 0}
    assert server.create().value("1") == "1"


def test_names_are_looked_up_outside(start_server: Callable[..., Server]) -> None:
    server = start_server("--egress-allow-private", "127.0.0.1,::1")
    origin = Origin("127.0.0.1")
    session = server.create(network={"allow": [f"localhost:{origin.port}"]})

    execution = session.run(
        f"import requests; print(requests.get('http://LOCALHOST:{origin.port}/', timeout=30,\n"
        "proxies={'http': 'http://127.0.0.1:3128'}).text)",
        env={"NO_PROXY": "", "no_proxy": ""},
    )

    assert execution["stdout"] == "hello \n", execution
    assert execution["network"][0]["address"] in ("127.0.0.1", "::1")
    assert execution["network"][0]["host"] == "localhost"
    origin.server_close()


def test_an_ordinary_user_serves_networks_too(
    start_server: Callable[..., Server], origin: Origin
) -> None:
    if os.geteuid() != 0:
        pytest.skip("this process is an ordinary user's already")
    server = start_server("--egress-allow-private", "127.77.0.0/16", user=65534)
    session = server.create(network={"allow": [origin.name]})

    execution = session.run(
        f"import requests; print(requests.get('http://{origin.name}/', timeout=30).text)"
    )

    assert execution["stdout"] == "hello \n", execution
    assert server.stop() == (0, [])


def test_a_connection_to_nobody_fails_with_a_reason(create: Callable[..., Session]) -> None:
    with socket.socket() as unheard:
        unheard.bind((OPEN, 0))
        where = f"{OPEN}:{unheard.getsockname()[1]}"
        session = create(network={"allow": [where]})

        execution = session.run(raw(f"CONNECT {where} HTTP/1.1\r\n\r\n".encode()))

    assert execution["stdout"].startswith("HTTP/1.1 502 "), execution
    assert execution["network"][0]["decision"] == "failed"
    assert json.loads(json.dumps(execution["network"][0]))["reason"].endswith(
        "does not accept a connection"
    )


def test_networks_that_come_and_go_leave_nothing(server: Server, origin: Origin) -> None:
    def spaces() -> int:
        found = set()
        for pid, _ in family(server.process.pid):
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/net"))
            except OSError:
                pass
        return len(found)

    def fds() -> int:
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    def round() -> None:
        session = server.create(network={"allow": [origin.name]})
        session.run(f"import socket; s = socket.create_connection(('{PROXY[:-5]}', 3128), 30)")
        assert session.delete().status == 204
        assert proxies(server) == []

    def full() -> bool:
        pools = server.info()["pools"]
        return bool(pools["empty"] >= 16 and pools["loaded"] >= 4)

    for _ in range(3):
        round()
    settled = until(lambda: full() and (fds(), spaces()))
    for _ in range(25):
        round()

    def as_before() -> bool:
        return full() and (fds(), spaces()) <= settled

    assert within(as_before), (settled, fds(), spaces())
    assert server.info()["egress"]["proxies"] == 0
