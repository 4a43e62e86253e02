# SPDX-License-Identifier: Apache-2.0
"""Sessions with a network: what stock HTTP clients inside reach through the proxy, and that each decision
is in the record. All servers are on loopback addresses of this machine."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import pytest
from origins import OPEN, Origin, proxies, raw
from served import Server, Session

pytestmark = pytest.mark.needs("network")

PROXY = "127.0.0.1:3128"
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
    assert entry["reason"] == "opened by an earlier execution"
    assert 1000 < entry["sent"] < 2000, entry


def test_decisions_are_counted_and_logged(server: Server, online: Session) -> None:
    name = 'vitrine_egress_decisions_total{decision="refused"}'
    before = server.metrics()[name]

    online.run(raw(b"CONNECT counted.example:443 HTTP/1.1\r\n\r\n"))

    assert server.metrics()[name] == before + 1
    line = next(one for one in server.read_log().splitlines() if "counted.example" in one)
    assert f"session={online.id}" in line and "decision=refused" in line


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
