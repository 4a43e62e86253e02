# SPDX-License-Identifier: Apache-2.0
"""What sessions with a network must not reach: hosts that no rule names, private addresses, and what is
smuggled behind a request that was allowed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from origins import CLOSED, Origin, raw
from served import Server, Session

pytestmark = pytest.mark.needs("network")

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
