# SPDX-License-Identifier: Apache-2.0
# Generated from async_transport.py by clients/python/unasync.py: edit that one.
"""How a call reaches the server: connections that are reused, and retries.

A call is repeated only after a 503 with Retry-After: it was then not started. After a broken
connection it is never repeated, because the code may have run.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
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


class Transport:
    """Connections to one server.

    Every call uses an httpx client of its own, with one connection, which the next call reuses:
    httpx's own pool scans all its connections for each request, which is slow with many sessions.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._options = client_options(address)
        self._wire = wire_options(address)
        self._is_closed = False
        self._idle: list[httpx.Client] = []

    @contextlib.contextmanager
    def _client(self) -> Iterator[httpx.Client]:
        try:  # threads share the list: nothing is asked before it is taken
            client = self._idle.pop()
        except IndexError:
            client = self._make()
        try:
            yield client
        finally:
            if self._is_closed or len(self._idle) >= MOST_IDLE:
                client.close()
            else:
                self._idle.append(client)

    def _make(self) -> httpx.Client:
        if use_proxies(self.address):
            return httpx.Client(**self._options, verify=self._wire["verify"], limits=POOL)
        return httpx.Client(**self._options, transport=httpx.HTTPTransport(**self._wire))

    def call(self, call: Call, *, wait_s: float = 0.0) -> Any:
        """The JSON of the response; None for an empty one."""
        since = time.monotonic()
        while True:
            with translated(self.address):
                with self._client() as http:
                    response = http.request(
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
        """The response as a stream. Leaving early closes the connection."""
        since = time.monotonic()
        while True:
            with translated(self.address):
                with (
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
                    response.read()
            if not (pause := wait_after(response.status_code, response.headers, since, wait_s)):
                raise refusal(response)
            time.sleep(pause)

    def close(self) -> None:
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()
