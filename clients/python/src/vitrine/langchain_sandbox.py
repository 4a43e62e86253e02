# SPDX-License-Identifier: Apache-2.0
"""The classes of langchain-sandbox, with a session of ours in place of Deno and Pyodide.

To be imported from `vitrine.langchain`. The state of a session stays on the server; what programs
carry around as `session_bytes` only names it.
"""

from __future__ import annotations

import dataclasses
import warnings
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId
from pydantic import BaseModel, Field, PrivateAttr

from .async_sandbox import AsyncSandbox, run_async
from .calls import Limits
from .errors import NotFound, NotPlainData, SessionDead
from .results import Result
from .sandbox import Sandbox, run

Permission = list[str] | bool


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
        allow_env: Permission = False,
        allow_read: Permission = False,
        allow_write: Permission = False,
        allow_net: Permission = False,
        allow_run: Permission = False,
        allow_ffi: Permission = False,
        node_modules_dir: str = "auto",
        skip_deno_check: bool = False,
        url: str | None = None,
        token: str | None = None,
    ) -> None:
        """The arguments of langchain-sandbox, so that programs run unchanged, and `url`, `token`.

        Deno is not used. What `allow_read`, `allow_write`, `allow_run` and `allow_ffi` open, every
        session has within its own walls. A list as `allow_net` names the hosts a session may reach.
        `allow_net=True` and `allow_env` warn that they change nothing.
        """
        self.stateful = stateful
        self._where: _Where = {"url": url, "token": token}
        self._network = [] if isinstance(allow_net, bool) else list(allow_net)
        if allow_net is True:
            warnings.warn(
                "allow_net=True has no effect: a session reaches only hosts that are named; "
                'say allow_net=["example.org"]. The usual packages are installed already',
                stacklevel=2,
            )
        if allow_env:
            warnings.warn(
                "allow_env has no effect: sessions do not see the environment of this process",
                stacklevel=2,
            )


class SyncPyodideSandbox(_Base):
    """`langchain_sandbox.SyncPyodideSandbox`, without Pyodide: real Python, plots captured.

    `stateful=True`: the state stays on the server, and `session_bytes` only name it. Two executions
    with the same bytes therefore share their state, and it ends after the session's idle time.
    `memory_limit_mb` counts when a session is made; no `timeout_seconds` means the server's limit.
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
            return _answer(
                run(
                    code,
                    timeout=timeout_seconds,
                    limits=limits,
                    network=self._network,
                    **self._where,
                )
            )
        try:
            if session_bytes is None:
                box = Sandbox(limits=limits, name="langchain", network=self._network, **self._where)
            else:
                box = Sandbox.attach(_session(session_bytes), **self._where)
        except NotFound as error:
            return _lost(
                error,
                Sandbox(
                    limits=limits, name="langchain", network=self._network, **self._where
                ).detach(),
            )
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
            result = await run_async(
                code, timeout=timeout_seconds, limits=limits, network=self._network, **self._where
            )
            return _answer(result)
        try:
            if session_bytes is None:
                box = await AsyncSandbox.create(
                    limits=limits, name="langchain", network=self._network, **self._where
                )
            else:
                box = await AsyncSandbox.attach(_session(session_bytes), **self._where)
        except NotFound as error:
            async with AsyncSandbox(
                limits=limits, name="langchain", network=self._network, **self._where
            ) as fresh:
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


# ---- the tool


class _Input(BaseModel):
    """Python code to execute in the sandbox."""

    code: str = Field(description="Code to execute.")


class PyodideSandboxTool(BaseTool):
    """`langchain_sandbox.PyodideSandboxTool`: the same arguments, the same answers.

    `stateful=True` needs langgraph, a `ToolNode`, and `session_bytes` and `session_metadata` in the
    graph's state, as there. `python_sandbox()` keeps state without all that.
    """

    name: str = "python_code_sandbox"
    description: str = (
        "A secure Python code sandbox. Use this to execute python commands.\n"
        "- Input should be a valid python command.\n"
        "- To return output, you should print it out with `print(...)`."
    )
    stateful: bool = False
    allow_env: Permission = False
    allow_read: Permission = False
    allow_write: Permission = False
    allow_net: Permission = False
    allow_run: Permission = False
    allow_ffi: Permission = False
    timeout_seconds: float | None = 60
    node_modules_dir: str = "auto"
    url: str | None = None
    token: str | None = Field(default=None, repr=False, exclude=True)

    _sandbox: PyodideSandbox = PrivateAttr()
    _sync_sandbox: SyncPyodideSandbox = PrivateAttr()

    def __init__(
        self,
        *,
        stateful: bool = False,
        timeout_seconds: float | None = 60,
        allow_net: Permission = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            stateful=stateful, timeout_seconds=timeout_seconds, allow_net=allow_net, **kwargs
        )
        self.args_schema = _stateful_input() if stateful else _Input
        where: _Where = {"url": self.url, "token": self.token}
        self._sandbox = PyodideSandbox(
            stateful=stateful, allow_net=allow_net, allow_env=self.allow_env, **where
        )
        self._sync_sandbox = SyncPyodideSandbox(stateful=stateful, **where)

    def _run(self, code: str, state: Any = None, tool_call_id: str | None = None, **_: Any) -> Any:
        result = self._sync_sandbox.execute(
            code, timeout_seconds=self.timeout_seconds, **self._earlier(state)
        )
        return self._told(result, tool_call_id)

    async def _arun(
        self, code: str, state: Any = None, tool_call_id: str | None = None, **_: Any
    ) -> Any:
        result = await self._sandbox.execute(
            code, timeout_seconds=self.timeout_seconds, **self._earlier(state)
        )
        return self._told(result, tool_call_id)

    def _earlier(self, state: Any) -> dict[str, Any]:
        if not self.stateful:
            return {}
        given = state if isinstance(state, dict) else vars(state)
        if missing := {"session_bytes", "session_metadata", "messages"} - set(given):
            raise ValueError(f"Input state is missing the following required keys: {missing}")
        return {name: given[name] for name in ("session_bytes", "session_metadata")}

    def _told(self, result: CodeExecutionResult, tool_call_id: str | None) -> Any:
        text = f"Error during execution: {result.stderr}" if result.stderr else result.stdout
        if not self.stateful:
            return text
        from langgraph.types import Command

        message = ToolMessage(content=text or "", tool_call_id=tool_call_id)
        return Command(
            update={
                "session_bytes": result.session_bytes,
                "session_metadata": result.session_metadata,
                "messages": [message],
            }
        )


def _stateful_input() -> type[BaseModel]:
    try:
        from langgraph.prebuilt import InjectedState
    except ImportError as error:
        raise ImportError("a stateful tool needs langgraph: pip install langgraph") from error

    class StatefulInput(_Input):
        state: Annotated[Any, InjectedState]
        tool_call_id: Annotated[str, InjectedToolCallId]

    StatefulInput.model_rebuild(_types_namespace={**globals(), "InjectedState": InjectedState})
    return StatefulInput
