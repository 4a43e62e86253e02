# SPDX-License-Identifier: Apache-2.0
"""Which server is meant, and the connections to it, which are shared."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Iterator

from .async_transport import AsyncTransport
from .errors import VitrineError
from .http_options import NDJSON, Address, Lines
from .sync_transport import Transport

__all__ = ["NDJSON", "Address", "AsyncTransport", "Lines", "Transport", "find_address"]

DEFAULT_URL = "http://127.0.0.1:8000"

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


# One per server and process; a child of fork() begins with none, since it must not share sockets.
_shared: dict[Address, Transport] = {}
_lock = threading.Lock()
_shared_async: dict[tuple[asyncio.AbstractEventLoop, Address], AsyncTransport] = {}
_users: dict[AsyncTransport, int] = {}


def _forget() -> None:
    global _lock
    _lock = threading.Lock()
    _shared.clear()
    _shared_async.clear()
    _users.clear()


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
    transport = _shared_async[key]
    _users[transport] = _users.get(transport, 0) + 1
    return transport


async def release(transport: AsyncTransport) -> None:
    _users[transport] = _users.get(transport, 1) - 1
    if _users[transport] == 0:
        del _users[transport]
        for key in [key for key, one in _shared_async.items() if one is transport]:
            del _shared_async[key]
        await transport.close()


@contextlib.contextmanager
def connection(address: Address) -> Iterator[Transport]:
    """For a call that belongs to no sandbox."""
    yield shared(address)


@contextlib.asynccontextmanager
async def async_connection(address: Address) -> AsyncIterator[AsyncTransport]:
    """For a call that belongs to no sandbox."""
    transport = acquire(address)
    try:
        yield transport
    finally:
        await release(transport)
