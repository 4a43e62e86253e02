# SPDX-License-Identifier: Apache-2.0
"""How a call reaches the server: connections that are reused, and retries.

A call is repeated only after a 503 with Retry-After: it was then not started. After a broken
connection it is never repeated, because the code may have run.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

from .calls import Call
from .http_options import (
    MOST_IDLE,
    POOL,
    Address,
    client_options,
    refusal,
    timeout_of,
    translated,
    use_proxies,
    wait_after,
    wire_options,
)


class AsyncTransport:
    """Connections to one server.

    Every call uses an httpx client of its own, with one connection, which the next call reuses:
    httpx's own pool scans all its connections for each request, which is slow with many sessions.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._options = client_options(address)
        self._wire = wire_options(address)
        self._is_closed = False
        self._idle: list[httpx.AsyncClient] = []

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        try:  # threads share the list: nothing is asked before it is taken
            client = self._idle.pop()
        except IndexError:
            client = self._make()
        try:
            yield client
        finally:
            if self._is_closed or len(self._idle) >= MOST_IDLE:
                await client.aclose()
            else:
                self._idle.append(client)

    def _make(self) -> httpx.AsyncClient:
        if use_proxies(self.address):
            return httpx.AsyncClient(**self._options, verify=self._wire["verify"], limits=POOL)
        return httpx.AsyncClient(**self._options, transport=httpx.AsyncHTTPTransport(**self._wire))

    async def call(self, call: Call, *, wait_s: float = 0.0) -> Any:
        """The JSON of the response; None for an empty one."""
        since = time.monotonic()
        while True:
            with translated(self.address):
                async with self._client() as http:
                    response = await http.request(
                        call.method,
                        call.path,
                        json=call.body,
                        params=call.params,
                        timeout=timeout_of(call.patience),
                    )
            if response.is_success:
                return response.json() if response.content else None
            if not (pause := wait_after(response.status_code, response.headers, since, wait_s)):
                raise refusal(response)
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
        """The response as a stream. Leaving early closes the connection."""
        since = time.monotonic()
        while True:
            with translated(self.address):
                async with (
                    self._client() as http,
                    http.stream(
                        call.method,
                        call.path,
                        params=call.params,
                        headers=headers,
                        timeout=timeout_of(call.patience),
                        **({"json": call.body} if content is None else {"content": content}),
                    ) as response,
                ):
                    if response.is_success:
                        yield response
                        return
                    await response.aread()
            if not (pause := wait_after(response.status_code, response.headers, since, wait_s)):
                raise refusal(response)
            await asyncio.sleep(pause)

    async def close(self) -> None:
        self._is_closed = True
        while self._idle:
            await self._idle.pop().aclose()
