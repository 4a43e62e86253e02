# SPDX-License-Identifier: Apache-2.0
"""LangChain: `pip install 'vitrine[langchain]'`.

`python_sandbox()` is a tool for agents:

    >>> tool = python_sandbox(limits={"memory_mb": 512})
    >>> agent = create_agent(model, tools=[tool])

`PyodideSandbox` and `SyncPyodideSandbox` take the place of langchain-sandbox's:

    >>> from vitrine.langchain import PyodideSandbox
    >>> result = await PyodideSandbox(stateful=True).execute("x = 1")
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr

from .async_sandbox import AsyncSandbox, run_async
from .calls import Limits
from .errors import NotFound, NotPlainData, SessionDead
from .results import Result
from .sandbox import Sandbox, run

Content = str | list[str | dict[str, Any]]

DESCRIPTION = """\
Runs Python code in a sealed, stateful session and returns what it printed, the value of its last \
expression and any error.
- Variables, imports and files stay from call to call, as in a notebook.
- numpy, pandas and matplotlib are installed; figures and images are captured by themselves.
- There is no network. Files live in the current directory."""


class _Input(BaseModel):
    code: str = Field(description="Python code to run.")


class PythonSandboxTool(BaseTool):
    """The tool behind `python_sandbox()`.

    Its answer is text; a `ToolMessage` has the whole `Result` as its `artifact`, so
    `message.artifact.images` are the plots. The session is made at the first call.
    """

    name: str = "python_sandbox"
    description: str = DESCRIPTION
    args_schema: Any = _Input
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    settings: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)
    timeout_seconds: float | None = None
    show_images: bool = False

    _box: Sandbox | None = PrivateAttr(default=None)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def sandbox(self) -> Sandbox:
        """The session behind it; for its files, for instance."""
        with self._lock:
            if self._box is None:
                self._box = Sandbox(name=self.name, **self.settings)
            return self._box

    def _run(self, code: str, **_: Any) -> tuple[Content, Result]:
        box = self.sandbox
        lost = ""
        try:
            result = box.run(code, timeout=self.timeout_seconds)
        except (SessionDead, NotFound) as error:
            lost = f"[the earlier session is gone ({error.detail}); its variables are lost]\n"
            with self._lock:
                if self._box is box:
                    box.end()
                    self._box = None
            result = self.sandbox.run(code, timeout=self.timeout_seconds)
        return self._content(lost, result), result

    async def _arun(self, code: str, **_: Any) -> tuple[Content, Result]:
        try:
            return await asyncio.to_thread(self._run, code)
        except asyncio.CancelledError:
            if self._box is not None:
                await asyncio.to_thread(self._box.interrupt)
            raise

    def _content(self, lost: str, result: Result) -> Content:
        text = lost + (str(result) or "(no output)")
        if not result.state_kept:
            text += f"\n[{result.outcome}: the session is gone, and its variables with it]"
        images = result.images
        if images and not self.show_images:
            text += f"\n[{len(images)} image{'s' if len(images) > 1 else ''} captured]"
        if not images or not self.show_images:
            return text
        return [{"type": "text", "text": text}, *map(_image_block, images)]

    def close(self) -> None:
        """Ends the session. The next call would make another one."""
        with self._lock:
            box, self._box = self._box, None
        if box is not None:
            box.close()

    def __enter__(self) -> PythonSandboxTool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def python_sandbox(
    *,
    timeout_seconds: float | None = None,
    show_images: bool = False,
    limits: Limits | None = None,
    env: Mapping[str, str] | None = None,
    seed: int | None = None,
    packages: Sequence[str] = (),
    url: str | None = None,
    token: str | None = None,
) -> PythonSandboxTool:
    """A tool that runs Python in one stateful session.

    >>> with python_sandbox() as tool:
    ...     tool.invoke({"code": "print(2 + 2)"})
    '4'

    Args:
        timeout_seconds: for one call; by default the session's limit.
        show_images: also give pictures to the model, as content blocks.
        limits, env, seed, packages, url, token: as for `vitrine.Sandbox`.
    """
    given = {
        "limits": limits,
        "env": env,
        "seed": seed,
        "packages": packages,
        "url": url,
        "token": token,
    }
    settings = {name: value for name, value in given.items() if value}
    if seed is not None:
        settings["seed"] = seed
    return PythonSandboxTool(
        settings=settings, timeout_seconds=timeout_seconds, show_images=show_images
    )


# ---- in place of langchain-sandbox


@dataclasses.dataclass(kw_only=True)
class CodeExecutionResult:
    """langchain-sandbox's result, and the pictures that it lacks."""

    result: Any = None
    stdout: str | None = None
    stderr: str | None = None
    status: Literal["success", "error"]
    execution_time: float
    session_metadata: dict[str, Any] | None = None
    session_bytes: bytes | None = None
    images: list[bytes] = dataclasses.field(default_factory=list)


class _Where(TypedDict):
    url: str | None
    token: str | None


class _Base:
    def __init__(
        self,
        *,
        stateful: bool = False,
        allow_env: list[str] | bool = False,
        allow_read: list[str] | bool = False,
        allow_write: list[str] | bool = False,
        allow_net: list[str] | bool = False,
        allow_run: list[str] | bool = False,
        allow_ffi: list[str] | bool = False,
        node_modules_dir: str = "auto",
        skip_deno_check: bool = False,
        url: str | None = None,
        token: str | None = None,
    ) -> None:
        """The arguments of langchain-sandbox, so that programs run unchanged, and `url`, `token`.

        Deno is not used. What `allow_read`, `allow_write`, `allow_run` and `allow_ffi` open, every
        session has within its own walls. Nothing of the host can be opened: `allow_net` and
        `allow_env` warn that they change nothing.
        """
        self.stateful = stateful
        self._where: _Where = {"url": url, "token": token}
        for name, wish in (("allow_net", allow_net), ("allow_env", allow_env)):
            if wish:
                warnings.warn(
                    f"{name} has no effect: sessions have no network and do not see the "
                    "environment of this process; the usual packages are installed already",
                    stacklevel=2,
                )


class SyncPyodideSandbox(_Base):
    """`langchain_sandbox.SyncPyodideSandbox`, without Pyodide: real Python, plots captured.

    `stateful=True`: the state stays on the server, and `session_bytes` only name it. Two executions
    with the same bytes therefore share their state, and it ends after the session's idle time.
    `memory_limit_mb` counts when a session is made.
    """

    def execute(
        self,
        code: str,
        *,
        session_bytes: bytes | None = None,
        session_metadata: dict[str, Any] | None = None,
        timeout_seconds: float | None = None,
        memory_limit_mb: int | None = None,
    ) -> CodeExecutionResult:
        """Runs code; never raises for what the code does."""
        limits = _limits(memory_limit_mb)
        if not self.stateful:
            return _answer(run(code, timeout=timeout_seconds, limits=limits, **self._where))
        try:
            if session_bytes is None:
                box = Sandbox(limits=limits, name="langchain", **self._where)
            else:
                box = Sandbox.attach(_session(session_bytes), **self._where)
        except NotFound as error:
            return _lost(error, Sandbox(limits=limits, name="langchain", **self._where).detach())
        with box:  # ends it only if the call fails
            try:
                return _answer(box.run(code, timeout=timeout_seconds), box.detach())
            except SessionDead as error:
                box.reset()
                return _lost(error, box.detach())


class PyodideSandbox(_Base):
    """`langchain_sandbox.PyodideSandbox`: the same as `SyncPyodideSandbox`, to be awaited."""

    async def execute(
        self,
        code: str,
        *,
        session_bytes: bytes | None = None,
        session_metadata: dict[str, Any] | None = None,
        timeout_seconds: float | None = None,
        memory_limit_mb: int | None = None,
    ) -> CodeExecutionResult:
        """Runs code; never raises for what the code does."""
        limits = _limits(memory_limit_mb)
        if not self.stateful:
            result = await run_async(code, timeout=timeout_seconds, limits=limits, **self._where)
            return _answer(result)
        try:
            if session_bytes is None:
                box = await AsyncSandbox.create(limits=limits, name="langchain", **self._where)
            else:
                box = await AsyncSandbox.attach(_session(session_bytes), **self._where)
        except NotFound as error:
            async with AsyncSandbox(limits=limits, name="langchain", **self._where) as fresh:
                return _lost(error, fresh.detach())
        async with box:
            try:
                return _answer(await box.run(code, timeout=timeout_seconds), box.detach())
            except SessionDead as error:
                await box.reset()
                return _lost(error, box.detach())


_PREFIX = b"vitrine:"


def _limits(memory_limit_mb: int | None) -> Limits | None:
    return {"memory_mb": memory_limit_mb} if memory_limit_mb else None


def _session(session_bytes: bytes) -> str:
    if not session_bytes.startswith(_PREFIX):
        raise ValueError("these session_bytes are not from Vitrine; start with None")
    return session_bytes[len(_PREFIX) :].decode("ascii", errors="replace")


def _answer(result: Result, session: str | None = None) -> CodeExecutionResult:
    stderr = result.stderr
    if result.outcome == "timeout":
        stderr += f"Execution timed out after {result.usage.wall_ms / 1000:.3g} seconds\n"
    elif result.error:
        stderr += result.error.traceback or f"{result.error.name}: {result.error.value}"
    elif not result.ok:
        stderr += f"{result.outcome}, exit code {result.exit_code}"
    try:
        value = result.value
    except NotPlainData:
        value = result.text
    return CodeExecutionResult(
        result=value,
        stdout=result.stdout or None,
        stderr=stderr or None,
        status="success" if result.ok else "error",
        execution_time=result.usage.wall_ms / 1000,
        images=result.images,
        **_state(session),
    )


def _lost(error: NotFound | SessionDead, session: str) -> CodeExecutionResult:
    return CodeExecutionResult(
        status="error",
        stderr=f"The earlier session is gone ({error.detail}). The code was not run. "
        "A fresh session was started: define again what you need.",
        execution_time=0.0,
        **_state(session),
    )


def _state(session: str | None) -> dict[str, Any]:
    if session is None:
        return {}
    return {
        "session_bytes": _PREFIX + session.encode(),
        "session_metadata": {"vitrine_session": session},
    }


def _image_block(image: bytes) -> dict[str, Any]:
    kind = "jpeg" if image.startswith(b"\xff\xd8") else "png"
    data = base64.b64encode(image).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{data}"}}


__all__ = [
    "CodeExecutionResult",
    "PyodideSandbox",
    "PythonSandboxTool",
    "SyncPyodideSandbox",
    "python_sandbox",
]
