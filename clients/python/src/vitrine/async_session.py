# SPDX-License-Identifier: Apache-2.0
"""The methods of an existing session, and the one-shot."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Literal

from . import calls
from .async_files import AsyncFiles
from .async_screen import AsyncScreen
from .calls import (
    WAIT_S,
    Call,
    Capture,
    Execution,
    Limits,
    OnText,
    SessionInfo,
    Settings,
    session_path,
)
from .either import Either
from .errors import ConnectionLost, NotFound
from .results import (
    Event,
    OnEvent,
    PastExecution,
    Result,
    Stack,
    parse_event,
    parse_past,
    parse_result,
)
from .transport import NDJSON, AsyncTransport, Lines, async_connection, find_address


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
    """Runs code in a session of its own, which ends afterwards.

    >>> result = await vitrine.run_async("sum(range(10))")
    >>> result.value
    45
    """
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
    async with async_connection(find_address(url, token)) as transport:
        call = calls.run_once(settings, execution)
        return await _answer(transport, call, wait_s, on_stdout, on_stderr, on_event)


_one_shot = run_async  # inside the class, `run` is something else


class AsyncSession(AsyncScreen):
    """The part of `AsyncSandbox` that works on an existing session."""

    notes: list[str]
    limits: Limits
    files: AsyncFiles
    """What is in the session's home: `await box.files.upload("in.csv")`."""
    _exec_limit: float
    _owned: bool

    def _set(self, transport: AsyncTransport, info: SessionInfo, *, owned: bool) -> None:
        self._owned = owned
        self.id = info.id
        self.notes = info.notes
        self.limits = info.limits
        self._exec_limit = calls.exec_limit(info)
        self.files = AsyncFiles(transport, info.id)

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
        """Runs code in this session and waits for its end. On the class: in a session of its own.

        >>> await box.run("name = input()", stdin="Ada\\n")
        >>> await box.run("print(name)", on_stdout=print)

        An exception in the code is not raised here: see `Result.outcome`, or use `Result.check()`.
        Cancelling or interrupting (Ctrl-C) this call also interrupts the code.

        Args:
            timeout: seconds; by default the session's `exec_timeout_s`.
            stdin: what `input()` reads.
            env: variables for this execution only.
            on_stdout, on_stderr: called with each piece of output.
            on_event: called with each `Event`.
            capture_screenshot: also takes a screenshot, as `Result.screenshot`.
            capture: screenshots while it runs, as `Result.frames`: True (whenever the display has
                changed), or for example {"every_ms": 200, "max": 20}.
            on_disconnect: "continue" lets the code continue if the connection breaks.
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

    run = Either(_one_shot, _run)

    run_once = staticmethod(_one_shot)

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
        """Runs code and yields each `Event`; the last one has the `Result`.

        >>> async for event in box.stream("for i in range(3): print(i)"):
        ...     print(event.type, event.text)

        Leaving the loop early interrupts the code.
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
        """Raises KeyboardInterrupt in the running code; no effect if none runs."""
        await self._live.call(Call("POST", session_path(self.id, "/interrupt")))

    async def reset(self, *, files: Literal["wipe", "keep"] = "wipe") -> SessionInfo:
        """Starts a new process under the same id, also for a dead session. Variables are lost."""
        shown = await self._live.call(calls.reset(self.id, files), wait_s=self._wait_s)
        return calls.parse_session(shown)

    # ---- looking at it

    async def info(self) -> SessionInfo:
        return calls.parse_session(await self._live.call(Call("GET", session_path(self.id))))

    async def history(self, limit: int = 50) -> list[PastExecution]:
        """The executions of the session, newest first."""
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
        """The stack of the running code, without stopping it."""
        shown = await self._live.call(Call("GET", session_path(self.id, "/stack")))
        return Stack(bool(shown["running"]), shown.get("execution"), shown.get("stack"))

    # ---- its end

    async def end(self) -> None:
        """Ends the session and everything in it. No error if it has already ended."""
        self._owned = False
        with contextlib.suppress(NotFound):
            await self._live.call(Call("DELETE", session_path(self.id)))

    def detach(self) -> str:
        """Keeps the session alive after `close()`; `AsyncSandbox.attach(id)` finds it again."""
        self._owned = False
        return self.id


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


async def answer_session(
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
