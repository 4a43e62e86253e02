# SPDX-License-Identifier: Apache-2.0
"""Sessions with a network that attack: names that change their address, every notation of what is
private, other ports, smuggled requests, floods. What is inside is never reached, each refusal is in
the record, and the neighbour notices nothing. (What a network is for: test_network_ways.py.)"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from origins import CLOSED, OPEN, Names, Origin, listening, proxies, raw
from served import Background, Server, Session, until

pytestmark = pytest.mark.needs("network")

NAMES = "127.77.0.53"
GET = "import requests; r = requests.get('http://{0}/', timeout=30); print(r.status_code, r.text)"


@pytest.fixture(scope="module")
def names() -> Iterator[Names]:
    if os.geteuid() != 0:
        pytest.skip("needs root: a name server of our own, and a resolv.conf that names it")
    one = Names(NAMES)
    yield one
    one.close()


@pytest.fixture(scope="module")
def server(names: Names, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One whose proxies ask our name server: /etc/resolv.conf is another in its mount namespace."""
    resolv: Path = tmp_path_factory.mktemp("names") / "resolv.conf"
    resolv.write_text(f"nameserver {NAMES}\noptions timeout:1 attempts:1\n")
    resolv.parent.chmod(0o755)
    resolv.chmod(0o644)
    # The path goes through every directory above it as the proxy's own user.
    script = f'mount --bind {resolv} /etc/resolv.conf && exec "$@"'
    through = ("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh")
    one = Server("--egress-allow-private", f"{OPEN}/32", through=through)
    with one.must_end_cleanly():
        yield one


@pytest.fixture
def inner(origin: Origin) -> Iterator[Origin]:
    """What sessions must never reach, on the port that they are allowed."""
    with listening(CLOSED, origin.port) as one:
        yield one
        assert one.seen == []


def decisions(execution: dict[str, object]) -> list[tuple[str, str | None]]:
    entries = execution["network"]
    assert isinstance(entries, list)
    return [(one["decision"], one["address"]) for one in entries]


# ---- names


def test_a_name_that_moves_inside_is_refused_from_then_on(
    create: Callable[..., Session], names: Names, origin: Origin, inner: Origin
) -> None:
    names.zones["moves.test"] = [[OPEN], [CLOSED]]
    session = create(network={"allow": [f"moves.test:{origin.port}"]})
    get = GET.format(f"moves.test:{origin.port}")

    first, second = session.run(get), session.run(get)

    assert first["stdout"] == "200 hello \n", first
    assert decisions(first) == [("allowed", OPEN)]
    assert second["stdout"].startswith("403 ") and CLOSED in second["stdout"], second
    assert decisions(second) == [("refused", None)]


def test_a_name_that_flaps_never_leads_inside(
    create: Callable[..., Session], names: Names, origin: Origin, inner: Origin
) -> None:
    """One lookup for each connection, and the connection goes to what was looked up."""
    names.zones["flaps.test"] = [[OPEN], [CLOSED], [OPEN, CLOSED], [CLOSED, OPEN]] * 20
    session = create(network={"allow": [f"flaps.test:{origin.port}"]})
    code = (
        "import socket\n"
        "for n in range(60):\n"
        "    with socket.create_connection(('127.0.0.1', 3128), 30) as s:\n"
        f"        s.sendall(b'GET http://flaps.test:{origin.port}/ HTTP/1.1\\r\\n\\r\\n')\n"
        "        while s.recv(65536): pass\n"
    )

    execution = session.run(code, timeout_s=60)

    assert execution["outcome"] == "ok", execution
    seen = decisions(execution)
    assert len(seen) == 60 and set(seen) == {("allowed", OPEN), ("refused", None)}, set(seen)


# What a name server may say of an allowed name. The last two are told as addresses of IPv6.
LIES = {
    "loopback": [CLOSED],
    "one of two": [OPEN, CLOSED],
    "metadata": ["169.254.169.254"],
    "nothing": ["0.0.0.0"],
    "mapped": [OPEN, f"::ffff:{CLOSED}"],
    "NAT64": [OPEN, f"64:ff9b::{CLOSED}"],
    "6to4": [OPEN, "2002:7f58:1::"],
    "private of IPv6": [OPEN, "fd00::1"],
    "a hundred": [f"10.0.0.{n}" for n in range(100)],
}


@pytest.mark.parametrize("lie", LIES)
def test_a_name_with_an_address_inside_is_refused(
    create: Callable[..., Session], names: Names, origin: Origin, inner: Origin, lie: str
) -> None:
    name = lie.replace(" ", "-").lower() + ".test"
    names.zones[name] = [LIES[lie]]
    session = create(network={"allow": [f"{name}:{origin.port}"]})

    execution = session.run(raw(f"CONNECT {name}:{origin.port} HTTP/1.1\r\n\r\n".encode()))

    status = execution["stdout"].split(" ")[1]
    (entry,) = execution["network"]
    if any(":" in one for one in LIES[lie]) and status == "200":
        # The system asks for addresses of IPv6 only where it has one itself.
        assert entry["address"] == OPEN
    else:
        assert status in ("403", "502"), execution
        assert entry["decision"] in ("refused", "failed") and entry["address"] is None


def test_names_that_no_rule_has_are_never_looked_up(
    create: Callable[..., Session], names: Names, origin: Origin
) -> None:
    session = create(network={"allow": [f"known.test:{origin.port}"]})
    secret = "a-secret-in-a-name.test"

    for request in (f"CONNECT {secret}:443", f"CONNECT {secret}:{origin.port}",
                    f"GET http://{secret}/", f"CONNECT {secret}.known.test:{origin.port}"):  # fmt: skip
        execution = session.run(raw(f"{request} HTTP/1.1\r\n\r\n".encode()))
        assert execution["stdout"].startswith("HTTP/1.1 403 "), execution
    session.run("import socket\ntry: socket.getaddrinfo('direct.test', 80)\nexcept OSError: pass")

    assert not [one for one in names.asked if "secret" in one or "direct" in one]


# ---- notations, ports, requests


@pytest.mark.parametrize(
    "host",
    ["[64:ff9b::7f58:1]", "[2002:7f58:1::]", "[2001:0:7f58:1::]", "[::7f58:1]", "[fe80::1]", "[fd00::1]",
     "[::ffff:127.88.0.1]", "[ff02::1]", "[2001:db8::1]", "192.88.99.1", "100.64.0.1", "224.0.0.1",
     "255.255.255.255", "198.18.0.1"],
)  # fmt: skip
def test_what_leads_inside_is_refused_also_when_a_rule_names_it(
    server: Server, create: Callable[..., Session], origin: Origin, inner: Origin, host: str
) -> None:
    where = f"{host}:{origin.port}"
    made = server.post("/v1/sessions", {"network": {"allow": [where]}})
    if made.status == 422:  # not the one spelling of an address
        return
    session = Session(server, made.json)

    execution = session.run(raw(f"CONNECT {where} HTTP/1.1\r\n\r\n".encode()))

    assert execution["stdout"].startswith("HTTP/1.1 403 "), execution
    assert decisions(execution) == [("refused", None)]
    assert session.delete().status == 204


@pytest.mark.parametrize(
    "host",
    ["127.0x58.1", "0177.88.0.1", "127.88.1", "2136473601", "0x7f580001", "017726000001", "127.88.0.1.",
     "127.088.0.1", "[::1%lo]", "[fe80::1%25eth0]", "[::FFFF:7F58:1%1]", "xn--localhost-", "localho\u017ft",
     "127\u30020\u30020\u30021", "\uff11\uff12\uff17.0.0.1", "127.88.0.1%00.known.test", "known.test%2f@127.88.0.1",
     "known.test:80@127.88.0.1", "127.88.0.1#known.test", "127.88.0.1?known.test", "[127.88.0.1]"],
)  # fmt: skip
def test_no_notation_gets_past_the_rules(
    create: Callable[..., Session], names: Names, origin: Origin, inner: Origin, host: str
) -> None:
    names.zones["known.test"] = [[OPEN]]
    session = create(network={"allow": [f"known.test:{origin.port}", f"{CLOSED}:{origin.port}"]})

    for request in (f"CONNECT {host}:{origin.port}", f"GET http://{host}:{origin.port}/"):
        execution = session.run(raw(f"{request} HTTP/1.1\r\n\r\n".encode()))
        assert execution["stdout"][:13] in ("HTTP/1.1 400 ", "HTTP/1.1 403 "), execution
        assert {one for one, _ in decisions(execution)} == {"refused"}


@pytest.mark.parametrize("port", ["22", "25", "3128", "0", "65536", "+80", "080", "", "443 ", "-1"])
def test_other_ports_are_refused(create: Callable[..., Session], port: str) -> None:
    session = create(network={"allow": [OPEN, f"{OPEN}:8443"]})

    execution = session.run(raw(f"CONNECT {OPEN}:{port} HTTP/1.1\r\n\r\n".encode()))

    assert execution["stdout"][:13] in ("HTTP/1.1 400 ", "HTTP/1.1 403 "), execution
    assert {one for one, _ in decisions(execution)} == {"refused"}


def test_the_host_that_is_asked_is_the_host_that_was_judged(
    create: Callable[..., Session], origin: Origin
) -> None:
    session = create(network={"allow": [origin.name]})
    head = (
        f"GET http://{origin.name}/x HTTP/1.1\r\nHost: inner.example\r\nhost: other.example\r\n\r\n"
    )

    execution = session.run(raw(head.encode()))

    assert "hello" in execution["stdout"], execution
    assert origin.seen[-1][2]["Host"] == origin.name


HEADS = {
    "a huge line": b"GET http://%b/" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
    "a huge header": b"GET http://%b/ HTTP/1.1\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n",
    "a million headers": b"GET http://%b/ HTTP/1.1\r\n" + b"X: 1\r\n" * 100_000 + b"\r\n",
    "a megabyte without an end": b"GET http://%b/ HTTP/1.1\r\n" + b"a" * 1_000_000,
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500) + b"\n",
    "SOCKS": b"\x05\x01\x00\x05\x01\x00\x01\x7f\x58\x00\x01\x00\x50\n",
    "a version of its own": b"GET http://%b/ HTTP/9.9\r\n\r\n",
    "a coding that is none": b"POST http://%b/ HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a length with a sign": b"POST http://%b/ HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc",
    "a length beyond numbers": b"POST http://%b/ HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\nabc",
    "a header in a value": b"GET http://%b/ HTTP/1.1\r\nX: a\x00Host: b\r\n\r\n",
    "a target of another scheme": b"GET ftp://%b/ HTTP/1.1\r\n\r\n",
    "a path alone": b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("head", HEADS)
def test_heads_that_are_none_are_refused_and_bounded(
    create: Callable[..., Session], server: Server, origin: Origin, head: str
) -> None:
    session = create(network={"allow": [origin.name]})
    before = len(origin.seen)
    code = (
        f"data = {HEADS[head][:60]!r} + {HEADS[head][60:80]!r} * {max(1, len(HEADS[head][60:]) // 20)}"
        if len(HEADS[head]) > 10_000
        else f"data = {HEADS[head]!r}"
    )
    code = code.replace("%b", origin.name)
    code += (
        "\nimport socket\ngot = b''\n"
        "with socket.create_connection(('127.0.0.1', 3128), 30) as s:\n"
        "    try: s.sendall(data); s.shutdown(1)\n"
        "    except OSError: pass\n"
        "    try:\n"
        "        while part := s.recv(65536): got += part\n"
        "    except OSError: pass\n"
        "print(got[:13])"
    )

    execution = session.run(code, timeout_s=60)

    assert execution["stdout"].strip() in (
        "b'HTTP/1.1 400 '", "b'HTTP/1.1 431 '", "b'HTTP/1.1 501 '", "b''"
    ), execution  # fmt: skip
    assert len(origin.seen) == before
    (pid,) = proxies(server)
    resident = Path(f"/proc/{pid}/statm").read_text().split()[1]
    assert int(resident) * 4096 < 32 << 20


# ---- the proxy itself


def test_a_session_can_neither_see_nor_end_nor_replace_its_proxy(
    create: Callable[..., Session], server: Server, origin: Origin
) -> None:
    session = create(network={"allow": [origin.name]})
    (pid,) = until(lambda: proxies(server))
    code = (
        "import os, signal, socket\n"
        "own = {int(n) for n in os.listdir('/proc') if n.isdigit()}\n"
        "told = set()\n"
        f"for n in [*range(2, 3000), {pid}]:\n"
        "    if n in own: continue\n"
        "    try: os.kill(n, signal.SIGKILL); told.add('killed')\n"
        "    except OSError as e: told.add(e.errno)\n"
        "for options in ((), (socket.SO_REUSEADDR,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)):\n"
        "    with socket.socket() as s:\n"
        "        for one in options: s.setsockopt(socket.SOL_SOCKET, one, 1)\n"
        "        try: s.bind(('127.0.0.1', 3128)); s.listen(); told.add('bound')\n"
        "        except OSError as e: told.add(e.errno)\n"
        "with open('/proc/net/tcp') as f: told.add(sum(':0C38' in line.split()[1] for line in f))\n"
        "print(sorted(told, key=str))"
    )

    execution = session.run(code)

    # No such process; the address is taken; one listens there.
    assert execution["stdout"] == "[1, 3, 98]\n", execution
    assert proxies(server) == [pid]
    assert session.run(GET.format(origin.name))["stdout"] == "200 hello \n"


def test_a_flood_at_ones_own_proxy_disturbs_no_neighbour(
    create: Callable[..., Session], server: Server, origin: Origin, names: Names
) -> None:
    names.zones["slow.test"] = [[OPEN]]
    network = {"allow": [origin.name, f"slow.test:{origin.port}"]}
    attacker = create(network=network, limits={"cpus": 0.5, "processes": 64})
    neighbour = create(network=network)
    flood = (
        "import os, socket, threading, time\n"
        "end = time.time() + 8\n"
        "def one(n):\n"
        "    while time.time() < end:\n"
        "        try:\n"
        "            s = socket.create_connection(('127.0.0.1', 3128), 2)\n"
        f"            s.sendall([b'GET http://', os.urandom(9000), b'CONNECT slow.test:{origin.port} HTTP/1.1\\r\\n\\r\\n'\n"
        f"                + bytes(100), b'GET http://{origin.name}/big HTTP/1.1\\r\\n\\r\\n'][n % 4])\n"
        "            if n % 2: s.close()\n"
        "            else: s.recv(1)\n"
        "        except OSError: pass\n"
        "threads = [threading.Thread(target=one, args=(n,)) for n in range(40)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
    )
    task = Background(lambda: attacker.run(flood, timeout_s=30))

    asked = 0
    while not task.is_over():
        execution = neighbour.run(GET.format(origin.name))
        assert execution["stdout"] == "200 hello \n", execution
        asked += 1

    assert task.result()["outcome"] == "ok"
    assert asked > 5
    assert len(proxies(server)) == 2
    assert attacker.run(GET.format(origin.name), timeout_s=60)["stdout"] == "200 hello \n"
