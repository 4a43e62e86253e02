# SPDX-License-Identifier: Apache-2.0
"""The asynchronous client. It has the same methods as `Sandbox`, to be awaited."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Literal

from . import calls
from .async_files import AsyncFiles
from .async_screen import AsyncScreen
from .calls import Call, Capture, Display, Execution, Limits, SessionInfo, Settings, session_path
from .either import Either
from .errors import ConnectionLost, NotFound, VitrineError
from .results import Event, PastExecution, Result, Stack, parse_event, parse_past, parse_result
from .sandbox import WAIT_S, OnEvent, OnText
from .transport import NDJSON, AsyncTransport, Lines, acquire, find_address, release


async def run_async(
    code: str,
    *,
    timeout: float | None = None,
    stdin: str | None = None,
    on_stdout: OnText | None = None,
    on_stderr: OnText | None = None,
    on_event: OnEvent | None = None,
    capture_screenshot: bool = False,
    render_timeout: float | None = None,
    display_time: float | None = None,
    capture: Capture | bool = False,
    limits: Limits | None = None,
    env: Mapping[str, str] | None = None,
    seed: int | None = None,
    packages: Sequence[str] = (),
    imports: Sequence[str] = (),
    allow_sdist: bool = False,
    environment: str | None = None,
    isolation: str | None = None,
    policy: str | None = None,
    network: Sequence[str] = (),
    url: str | None = None,
    token: str | None = None,
    wait_s: float = WAIT_S,
) -> Result:
    """Runs code in a session of its own, which is gone afterwards: `vitrine.run`, to be awaited."""
    settings = Settings(
        limits=limits,
        env=env,
        seed=seed,
        packages=packages,
        imports=imports,
        allow_sdist=allow_sdist,
        environment=environment,
        isolation=isolation,
        policy=policy,
        network=network,
    )
    execution = Execution(
        code,
        timeout=timeout,
        stdin=stdin,
        capture_screenshot=capture_screenshot,
        render_timeout=render_timeout,
        display_time=display_time,
        capture=capture,
    )
    transport = acquire(find_address(url, token))
    try:
        call = calls.run_once(settings, execution)
        return await _answer(transport, call, wait_s, on_stdout, on_stderr, on_event)
    finally:
        await release(transport)


class AsyncSandbox(AsyncScreen):
    """A sealed, stateful Python session, for asyncio.

    >>> async with vitrine.AsyncSandbox() as box:
    ...     await box.run("x = 20")
    ...     (await box.run("x + 22")).value
    42

    The session is made by `async with` or by `await AsyncSandbox.create(...)`. The arguments are
    those of `Sandbox`. A cancelled `run` interrupts the code. `AsyncSandbox.run(code)` on the class
    itself is a one-shot.
    """

    id: str
    notes: list[str]
    limits: Limits
    files: AsyncFiles

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
        """A session that exists at once; for when `async with` does not fit. Close it."""
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
        """A session that exists already, by its id. `close()` leaves it alive; `end()` ends it."""
        box = cls(url=url, token=token, wait_s=wait_s)
        await box._open(Call("GET", session_path(session)), owned=False)
        return box

    async def _open(self, call: Call, *, owned: bool) -> None:
        transport = acquire(self._address)
        try:
            shown = await _answered(
                transport, call, self._wait_s, self._on_progress if owned else None
            )
            info = calls.parse_session(shown)
        except BaseException:
            await release(transport)
            raise
        self._transport = transport
        self._owned = owned
        self.id = info.id
        self.notes = info.notes
        self.limits = info.limits
        self._exec_limit = calls.exec_limit(info)
        self.files = AsyncFiles(transport, info.id)

    @property
    def _live(self) -> AsyncTransport:
        if self._transport is None:
            raise VitrineError(
                "this AsyncSandbox is not open",
                remedy="use `async with AsyncSandbox() as box:` or `await AsyncSandbox.create()`",
            )
        return self._transport

    # ---- running code

    async def _run(
        self,
        code: str,
        *,
        timeout: float | None = None,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        on_stdout: OnText | None = None,
        on_stderr: OnText | None = None,
        on_event: OnEvent | None = None,
        capture_screenshot: bool = False,
        render_timeout: float | None = None,
        display_time: float | None = None,
        capture: Capture | bool = False,
        on_disconnect: Literal["interrupt", "continue"] | None = None,
    ) -> Result:
        """Runs code in this session and waits for its end. Arguments: those of `Sandbox.run`.

        >>> result = await box.run("print(1)", on_stdout=print)
        """
        transport = self._live
        execution = Execution(
            code,
            timeout,
            stdin,
            env,
            capture_screenshot,
            render_timeout,
            display_time,
            on_disconnect,
            capture,
        )
        call = calls.execute(self.id, execution, self._exec_limit)
        return await _answer(transport, call, self._wait_s, on_stdout, on_stderr, on_event)

    run = Either(run_async, _run)

    run_once = staticmethod(run_async)

    def stream(
        self,
        code: str,
        *,
        timeout: float | None = None,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
        capture_screenshot: bool = False,
        capture: Capture | bool = False,
        on_disconnect: Literal["interrupt", "continue"] | None = None,
    ) -> AsyncIterator[Event]:
        """Runs code and gives each `Event` as it happens; the last one has the `Result`.

        >>> async for event in box.stream("for i in range(3): print(i)"):
        ...     print(event.type, event.text)
        """
        transport = self._live
        execution = Execution(
            code,
            timeout,
            stdin,
            env,
            capture_screenshot,
            on_disconnect=on_disconnect,
            capture=capture,
        )
        call = calls.execute(self.id, execution, self._exec_limit)
        return _events(transport, call, self._wait_s)

    async def interrupt(self) -> None:
        """Raises KeyboardInterrupt in the running code; nothing happens if none runs."""
        await self._live.call(Call("POST", session_path(self.id, "/interrupt")))

    async def reset(self, *, files: Literal["wipe", "keep"] = "wipe") -> SessionInfo:
        """A fresh process under the same id, also for a dead session. Variables are gone."""
        shown = await self._live.call(calls.reset(self.id, files), wait_s=self._wait_s)
        return calls.parse_session(shown)

    # ---- looking at it

    async def info(self) -> SessionInfo:
        return calls.parse_session(await self._live.call(Call("GET", session_path(self.id))))

    async def history(self, limit: int = 50) -> list[PastExecution]:
        """What ran in it, newest first."""
        found: list[PastExecution] = []
        after: str | None = None
        while len(found) < limit:
            page = await self._live.call(calls.history(self.id, limit - len(found), after))
            found += [parse_past(one) for one in page["executions"]]
            after = page.get("next")
            if after is None:
                break
        return found

    async def stack(self) -> Stack:
        """Where the code is now, without stopping it."""
        shown = await self._live.call(Call("GET", session_path(self.id, "/stack")))
        return Stack(bool(shown["running"]), shown.get("execution"), shown.get("stack"))

    # ---- its end

    async def end(self) -> None:
        """Ends the session and all that is in it. Fine if it is gone already."""
        self._owned = False
        with contextlib.suppress(NotFound):
            await self._live.call(Call("DELETE", session_path(self.id)))

    def detach(self) -> str:
        """Lets the session live on after `close()`; `AsyncSandbox.attach(id)` finds it again."""
        self._owned = False
        return self.id

    async def close(self) -> None:
        """Ends the session if this object made it, and gives its connections back."""
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


async def _answer(
    transport: AsyncTransport,
    call: Call,
    wait_s: float,
    on_stdout: OnText | None,
    on_stderr: OnText | None,
    on_event: OnEvent | None,
) -> Result:
    if on_stdout is None and on_stderr is None and on_event is None:
        return parse_result(await transport.call(call, wait_s=wait_s))
    result: Result | None = None
    async with contextlib.aclosing(_events(transport, call, wait_s)) as events:
        async for event in events:
            if on_event is not None:
                on_event(event)
            if event.type == "stdout" and on_stdout is not None:
                on_stdout(event.text)
            if event.type == "stderr" and on_stderr is not None:
                on_stderr(event.text)
            result = event.result or result
    assert result is not None  # else _events has raised
    return result


async def _events(
    transport: AsyncTransport, call: Call, wait_s: float
) -> AsyncGenerator[Event, None]:
    """Reads to the very end, so that the connection can be used again."""
    last: Event | None = None
    async with transport.stream(call, headers=NDJSON, wait_s=wait_s) as response:
        lines = Lines()
        async for block in response.aiter_bytes():
            for line in lines.feed(block):
                last = parse_event(line)
                yield last
    if last is None or last.result is None:
        raise ConnectionLost(
            "the stream ended early", remedy="the code may have run: see history()"
        )


async def _answered(
    transport: AsyncTransport, call: Call, wait_s: float, on_progress: OnText | None
) -> dict[str, object]:
    """The session that the call makes or finds."""
    if on_progress is None:
        return dict(await transport.call(call, wait_s=wait_s))
    creation = calls.Creation(on_progress)
    async with transport.stream(call, headers=NDJSON, wait_s=wait_s) as response:
        async for block in response.aiter_bytes():
            creation.feed(block)
    return creation.result()
