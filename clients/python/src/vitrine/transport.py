# SPDX-License-Identifier: Apache-2.0
"""How a call reaches the server: connections that are reused, retries, and errors by type.

A call is sent again only if the server said 503 with Retry-After: then it was not begun. A broken
connection is never tried again, since the code may have run.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import dataclasses
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from .calls import Call
from .errors import ConnectionFailed, ConnectionLost, VitrineError, server_error

DEFAULT_URL = "http://127.0.0.1:8000"
NDJSON = {"Accept": "application/x-ndjson"}
# An idle connection is closed by the server after 60 s: ours go first, so that none is used then.
_POOL = httpx.Limits(max_connections=None, max_keepalive_connections=1, keepalive_expiry=25)
_MOST_IDLE = 256
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


# Set by `vitrine.local()` for as long as its server runs; the innermost one counts.
local_addresses: list[Address] = []


def find_address(url: str | None = None, token: str | None = None) -> Address:
    """The one named; else that of an open `vitrine.local()`; else VITRINE_URL; else the default."""
    if url is None and local_addresses:
        known = local_addresses[-1]
        return Address(known.url, token or known.token)
    named = url or os.environ.get("VITRINE_URL") or DEFAULT_URL
    if not named.startswith(("http://", "https://")):
        raise VitrineError(f"not a server's address: {named!r}", remedy=f"such as {DEFAULT_URL}")
    return Address(named.rstrip("/"), token or os.environ.get("VITRINE_TOKEN") or None)


def _options(address: Address) -> dict[str, Any]:
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


def _wire_options(address: Address) -> dict[str, Any]:
    return {"verify": _tls(address.url), "limits": _POOL, "socket_options": _KEEPALIVE}


def _use_proxies(address: Address) -> bool:
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return _is_remote(address.url) and any(
        os.environ.get(name) or os.environ.get(name.lower()) for name in names
    )


def _timeout(patience: float) -> httpx.Timeout:
    return httpx.Timeout(connect=10, read=patience, write=60, pool=None)


def _wait_after(status: int, headers: Mapping[str, str], since: float, wait_s: float) -> float:
    """Seconds until the next try; 0 if there is to be none."""
    after = headers.get("retry-after")
    if status != 503 or after is None:
        return 0.0
    with contextlib.suppress(ValueError):
        pause = min(max(float(after), 0.05), 5.0)
        if time.monotonic() - since + pause <= wait_s:
            return pause
    return 0.0


def _refusal(response: httpx.Response) -> VitrineError:
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    return server_error(response.status_code, body, response.headers)


@contextlib.contextmanager
def _translated(address: Address) -> Iterator[None]:
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


class Transport:
    """Connections to one server, shared by all threads.

    Every call has an httpx client to itself, with one connection, and then leaves it to the next
    call: httpx's own pool looks at all its connections for each request, which many sessions at
    once would pay for.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._options = _options(address)
        self._wire = _wire_options(address)
        self._is_closed = False
        self._idle: list[httpx.Client] = []

    @contextlib.contextmanager
    def _client(self) -> Iterator[httpx.Client]:
        try:
            client = self._idle.pop()
        except IndexError:
            client = self._make()
        try:
            yield client
        finally:
            if self._is_closed or len(self._idle) >= _MOST_IDLE:
                client.close()
            else:
                self._idle.append(client)

    def _make(self) -> httpx.Client:
        if _use_proxies(self.address):
            return httpx.Client(**self._options, verify=self._wire["verify"], limits=_POOL)
        return httpx.Client(**self._options, transport=httpx.HTTPTransport(**self._wire))

    def call(self, call: Call, *, wait_s: float = 0.0) -> Any:
        """The JSON that it answers; None for an empty answer."""
        since = time.monotonic()
        while True:
            with _translated(self.address), self._client() as http:
                response = http.request(
                    call.method,
                    call.path,
                    json=call.body,
                    params=call.params,
                    timeout=_timeout(call.patience),
                )
            if response.is_success:
                return response.json() if response.content else None
            if not (pause := _wait_after(response.status_code, response.headers, since, wait_s)):
                raise _refusal(response)
            time.sleep(pause)

    @contextlib.contextmanager
    def stream(
        self,
        call: Call,
        *,
        headers: Mapping[str, str] | None = None,
        content: Any = None,
        wait_s: float = 0.0,
    ) -> Iterator[httpx.Response]:
        """The answer, while it comes. Leaving early ends the connection."""
        since = time.monotonic()
        while True:
            with (
                _translated(self.address),
                self._client() as http,
                http.stream(
                    call.method,
                    call.path,
                    params=call.params,
                    headers=headers,
                    timeout=_timeout(call.patience),
                    **({"json": call.body} if content is None else {"content": content}),
                ) as response,
            ):
                if response.is_success:
                    yield response
                    return
                response.read()
            if not (pause := _wait_after(response.status_code, response.headers, since, wait_s)):
                raise _refusal(response)
            time.sleep(pause)

    def close(self) -> None:
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()


class AsyncTransport:
    """The same for one event loop."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.users = 0
        self._options = _options(address)
        self._wire = _wire_options(address)
        self._is_closed = False
        self._idle: list[httpx.AsyncClient] = []

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        client = self._idle.pop() if self._idle else self._make()
        try:
            yield client
        finally:
            if self._is_closed or len(self._idle) >= _MOST_IDLE:
                await client.aclose()
            else:
                self._idle.append(client)

    def _make(self) -> httpx.AsyncClient:
        if _use_proxies(self.address):
            return httpx.AsyncClient(**self._options, verify=self._wire["verify"], limits=_POOL)
        return httpx.AsyncClient(**self._options, transport=httpx.AsyncHTTPTransport(**self._wire))

    async def call(self, call: Call, *, wait_s: float = 0.0) -> Any:
        since = time.monotonic()
        while True:
            with _translated(self.address):
                async with self._client() as http:
                    response = await http.request(
                        call.method,
                        call.path,
                        json=call.body,
                        params=call.params,
                        timeout=_timeout(call.patience),
                    )
            if response.is_success:
                return response.json() if response.content else None
            if not (pause := _wait_after(response.status_code, response.headers, since, wait_s)):
                raise _refusal(response)
            await asyncio.sleep(pause)

    @contextlib.asynccontextmanager
    async def stream(
        self,
        call: Call,
        *,
        headers: Mapping[str, str] | None = None,
        content: Any = None,
        wait_s: float = 0.0,
    ) -> AsyncIterator[httpx.Response]:
        since = time.monotonic()
        while True:
            with _translated(self.address):
                async with (
                    self._client() as http,
                    http.stream(
                        call.method,
                        call.path,
                        params=call.params,
                        headers=headers,
                        timeout=_timeout(call.patience),
                        **({"json": call.body} if content is None else {"content": content}),
                    ) as response,
                ):
                    if response.is_success:
                        yield response
                        return
                    await response.aread()
            if not (pause := _wait_after(response.status_code, response.headers, since, wait_s)):
                raise _refusal(response)
            await asyncio.sleep(pause)

    async def close(self) -> None:
        self._is_closed = True
        while self._idle:
            await self._idle.pop().aclose()


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


# One per server and process; a child of fork() begins with none, since it must not share sockets.
_shared: dict[Address, Transport] = {}
_lock = threading.Lock()
_shared_async: dict[tuple[asyncio.AbstractEventLoop, Address], AsyncTransport] = {}


def _forget() -> None:
    global _lock
    _lock = threading.Lock()
    _shared.clear()
    _shared_async.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def shared(address: Address) -> Transport:
    with _lock:
        if address not in _shared:
            _shared[address] = Transport(address)
        return _shared[address]


@atexit.register
def close_shared(address: Address | None = None) -> None:
    with _lock:
        chosen = [address] if address else list(_shared)
        gone = [_shared.pop(one) for one in chosen if one in _shared]
    for one in gone:
        one.close()


def acquire(address: Address) -> AsyncTransport:
    """That of the running loop. Each is given back; the last one closes it."""
    key = (asyncio.get_running_loop(), address)
    if key not in _shared_async:
        _shared_async[key] = AsyncTransport(address)
    _shared_async[key].users += 1
    return _shared_async[key]


async def release(transport: AsyncTransport) -> None:
    transport.users -= 1
    if transport.users == 0:
        for key in [key for key, one in _shared_async.items() if one is transport]:
            del _shared_async[key]
        await transport.close()
