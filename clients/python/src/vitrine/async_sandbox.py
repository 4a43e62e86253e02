# SPDX-License-Identifier: Apache-2.0
"""The asynchronous client. It has the same methods as `Sandbox`, to be awaited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

from . import calls
from .async_session import AsyncSession, answer_session, run_async
from .calls import WAIT_S, Call, Display, Limits, OnText, Settings, session_path
from .errors import VitrineError
from .transport import AsyncTransport, acquire, find_address, release

__all__ = ["AsyncSandbox", "run_async"]


class AsyncSandbox(AsyncSession):
    """An isolated, stateful Python session, for asyncio.

    >>> async with vitrine.AsyncSandbox() as box:
    ...     await box.run("x = 20")
    ...     (await box.run("x + 22")).value
    42

    `async with` or `await AsyncSandbox.create(...)` creates the session. The arguments are
    those of `Sandbox`. Its files and recordings can be used until it is closed. A cancelled `run`
    interrupts the code. `AsyncSandbox.run(code)` on the class itself is a one-shot.
    """

    def __init__(
        self,
        *,
        name: str = "",
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        seed: int | None = None,
        packages: Sequence[str] = (),
        imports: Sequence[str] = (),
        allow_sdist: bool = False,
        environment: str | None = None,
        isolation: str | None = None,
        policy: str | None = None,
        display: Display | None = None,
        network: Sequence[str] = (),
        url: str | None = None,
        token: str | None = None,
        wait_s: float = WAIT_S,
        on_progress: OnText | None = None,
    ) -> None:
        self._settings = Settings(
            name,
            limits,
            env,
            seed,
            packages,
            imports,
            isolation,
            policy,
            display,
            network,
            allow_sdist=allow_sdist,
            environment=environment,
        )
        self._address = find_address(url, token)
        self._wait_s = wait_s
        self._on_progress = on_progress
        self._owned = False
        self._transport: AsyncTransport | None = None

    @classmethod
    async def create(
        cls,
        *,
        name: str = "",
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        seed: int | None = None,
        packages: Sequence[str] = (),
        imports: Sequence[str] = (),
        allow_sdist: bool = False,
        environment: str | None = None,
        isolation: str | None = None,
        policy: str | None = None,
        display: Display | None = None,
        network: Sequence[str] = (),
        url: str | None = None,
        token: str | None = None,
        wait_s: float = WAIT_S,
        on_progress: OnText | None = None,
    ) -> AsyncSandbox:
        """Creates a session at once, where `async with` does not fit. Close it afterwards."""
        box = cls(
            name=name,
            limits=limits,
            env=env,
            seed=seed,
            packages=packages,
            imports=imports,
            allow_sdist=allow_sdist,
            environment=environment,
            isolation=isolation,
            policy=policy,
            display=display,
            network=network,
            url=url,
            token=token,
            wait_s=wait_s,
            on_progress=on_progress,
        )
        return await box.__aenter__()

    @classmethod
    async def attach(
        cls,
        session: str,
        *,
        url: str | None = None,
        token: str | None = None,
        wait_s: float = WAIT_S,
    ) -> AsyncSandbox:
        """An existing session, by its id. `close()` leaves it alive; `end()` ends it."""
        box = cls(url=url, token=token, wait_s=wait_s)
        await box._open(Call("GET", session_path(session)), owned=False)
        return box

    async def _open(self, call: Call, *, owned: bool) -> None:
        transport = acquire(self._address)
        try:
            shown = await answer_session(
                transport, call, self._wait_s, self._on_progress if owned else None
            )
            info = calls.parse_session(shown)
        except BaseException:
            await release(transport)
            raise
        self._transport = transport
        self._set(transport, info, owned=owned)

    @property
    def _live(self) -> AsyncTransport:
        if self._transport is None:
            raise VitrineError(
                "this AsyncSandbox is not open",
                remedy="use `async with AsyncSandbox() as box:` or `await AsyncSandbox.create()`",
            )
        return self._transport

    async def close(self) -> None:
        """Ends the session if this object created it, and releases its connections."""
        if self._transport is None:
            return
        try:
            if self._owned:
                await self.end()
        finally:
            transport, self._transport = self._transport, None
            await release(transport)

    async def __aenter__(self) -> AsyncSandbox:
        if self._transport is None:
            await self._open(calls.create(self._settings), owned=True)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self.close()
        except Exception:
            if error is None:  # else the first error is the one that matters
                raise

    def __repr__(self) -> str:
        state = self.id if self._transport else "(not open)"
        return f"<AsyncSandbox {state} at {self._address.url}>"
