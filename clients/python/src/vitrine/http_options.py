# SPDX-License-Identifier: Apache-2.0
"""What both transports share: the options of a connection, retries, and errors by type."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from .errors import ConnectionFailed, ConnectionLost, VitrineError, server_error

NDJSON = {"Accept": "application/x-ndjson"}
# An idle connection is closed by the server after 60 s: ours go first, so that none is used then.
POOL = httpx.Limits(max_connections=None, max_keepalive_connections=1, keepalive_expiry=25)
MOST_IDLE = 256
# A peer that is gone without a word is noticed within a minute, however long the code may run.
_KEEPALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
]


@dataclasses.dataclass(frozen=True)
class Address:
    """Which server, and the token for it (most need none on loopback)."""

    url: str
    token: str | None = None

    def __repr__(self) -> str:  # never the token
        return f"Address({self.url!r})"


def client_options(address: Address) -> dict[str, Any]:
    """For an httpx client, sync or async."""
    headers = {"User-Agent": "vitrine-python"}
    if address.token:
        headers["Authorization"] = f"Bearer {address.token}"
    return {"base_url": address.url, "headers": headers, "trust_env": _is_remote(address.url)}


def _is_remote(url: str) -> bool:
    """Whether proxies of the environment count: never for this machine itself."""
    return urlsplit(url).hostname not in ("127.0.0.1", "localhost", "::1")


def _tls(url: str) -> ssl.SSLContext:
    if url.startswith("https:"):
        return httpx.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody, and costs nothing to make


def wire_options(address: Address) -> dict[str, Any]:
    return {"verify": _tls(address.url), "limits": POOL, "socket_options": _KEEPALIVE}


def use_proxies(address: Address) -> bool:
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return _is_remote(address.url) and any(
        os.environ.get(name) or os.environ.get(name.lower()) for name in names
    )


def timeout_of(patience: float) -> httpx.Timeout:
    return httpx.Timeout(connect=10, read=patience, write=60, pool=None)


def wait_after(status: int, headers: Mapping[str, str], since: float, wait_s: float) -> float:
    """Seconds until the next try; 0 if there is to be none."""
    after = headers.get("retry-after")
    if status != 503 or after is None:
        return 0.0
    with contextlib.suppress(ValueError):
        pause = min(max(float(after), 0.05), 5.0)
        if time.monotonic() - since + pause <= wait_s:
            return pause
    return 0.0


def refusal(response: httpx.Response) -> VitrineError:
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    return server_error(response.status_code, body, response.headers)


@contextlib.contextmanager
def translated(address: Address) -> Iterator[None]:
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise ConnectionFailed(
            f"no server answers at {address.url}: {error}",
            remedy="start one with `vitrine serve`, or wrap the code in `with vitrine.local():`",
        ) from None  # httpx's four tracebacks say no more
    except httpx.TimeoutException as error:
        raise ConnectionLost(
            f"the server at {address.url} was silent for too long",
            remedy="the code may still run: see history(), or interrupt()",
        ) from error
    except httpx.TransportError as error:
        raise ConnectionLost(
            f"the connection to {address.url} broke: {error}",
            remedy="the code may have run: see history()",
        ) from error


class Lines:
    """Bytes as they come, cut at newlines only. httpx also cuts at U+2028, which JSON may hold."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, block: bytes) -> list[bytes]:
        """The lines that are complete now."""
        first, *rest = block.split(b"\n")
        self._parts.append(first)
        if not rest:
            return []
        complete = [b"".join(self._parts), *rest[:-1]]
        self._parts = [rest[-1]]
        return [line for line in complete if line]
