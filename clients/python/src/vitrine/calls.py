# SPDX-License-Identifier: Apache-2.0
"""The native API as data: what to ask for, without asking. Both clients, sync and async, use it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, cast
from urllib.parse import quote

from .errors import ConnectionLost, UnsafePath, VitrineError, problem_error

DEFAULT_EXEC_TIMEOUT_S = 30.0
WAIT_S = 30.0
"""How long a call waits while the server says that it has no room."""
OnText = Callable[[str], object]
_QUEUE = 17  # one execution runs and 16 wait, each for as long as its limit
_INSTALL_S = 900.0  # a session that waits for its packages
_MARGIN_S = 30.0  # for the network, and for the server to end what does not yield


class Limits(TypedDict, total=False):
    """A session's limits (docs/limits.md). Omitted ones have the server's default."""

    memory_mb: int
    cpus: float
    processes: int
    disk_mb: int
    output_kb: int
    exec_timeout_s: float
    idle_timeout_s: float
    install_timeout_s: float


class Display(TypedDict, total=False):
    width: int
    height: int


class Capture(TypedDict, total=False):
    """Screenshots while code runs (docs/display.md): `every_ms`, or `on_change`; at most `max`."""

    every_ms: int
    on_change: bool
    max: int


@dataclasses.dataclass(frozen=True)
class SessionInfo:
    """A session as the server shows it. `death` is set once `state` is "dead"."""

    id: str
    name: str
    state: str
    isolation: str
    policy: str
    created_at: str
    limits: Limits
    notes: list[str]
    seed: int | None = None
    death: dict[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class FileInfo:
    name: str
    type: Literal["file", "directory", "link", "other"]
    size: int
    modified_ms: int


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a session. Omitted ones have the server's default."""

    name: str = ""
    limits: Limits | None = None
    env: Mapping[str, str] | None = None
    seed: int | None = None
    packages: Sequence[str] = ()
    imports: Sequence[str] = ()
    isolation: str | None = None
    policy: str | None = None
    display: Display | None = None
    network: Sequence[str] = ()
    allow_sdist: bool = False
    environment: str | None = None

    def body(self) -> dict[str, Any]:
        allow = _texts("network", self.network)
        return _given(
            name=self.name or None,
            limits=dict(self.limits) if self.limits else None,
            env=dict(self.env) if self.env else None,
            seed=self.seed,
            packages=_texts("packages", self.packages),
            imports=_texts("imports", self.imports),
            allow_sdist=True if self.allow_sdist else None,
            environment=self.environment,
            isolation=self.isolation,
            policy=self.policy,
            display=dict(self.display) if self.display else None,
            network={"allow": allow} if allow else None,
        )


@dataclasses.dataclass(frozen=True)
class Execution:
    """What is to be run, and how."""

    code: str
    timeout: float | None = None
    stdin: str | None = None
    env: Mapping[str, str] | None = None
    capture_screenshot: bool = False
    render_timeout: float | None = None
    display_time: float | None = None
    on_disconnect: Literal["interrupt", "continue"] | None = None
    capture: Capture | bool = False

    def body(self) -> dict[str, Any]:
        if not isinstance(self.code, str):
            raise TypeError(f"code is text, not {type(self.code).__name__}")
        return _given(
            code=self.code,
            timeout_s=self.timeout,
            stdin=self.stdin,
            env=dict(self.env) if self.env else None,
            capture_screenshot=True if self.capture_screenshot else None,
            render_timeout=self.render_timeout,
            display_time=self.display_time,
            on_disconnect=self.on_disconnect,
            capture=_strip(self.capture),
        )

    def patience(self, session_limit: float) -> float:
        """How long to wait for a sign of life: longer than the server needs at its slowest."""
        limit = self.timeout if self.timeout is not None else session_limit
        return (max(limit, session_limit) + 2) * _QUEUE + _MARGIN_S


@dataclasses.dataclass(frozen=True)
class Call:
    method: str
    path: str
    body: dict[str, Any] | None = None
    params: dict[str, str] | None = None
    patience: float = 60.0


def session_path(session: str, below: str = "") -> str:
    return f"/v1/sessions/{quote(session, safe='')}{below}"


def file_path(session: str, path: str) -> str:
    return session_path(session, "/files/" + "/".join(map(quote, parts_of(path))))


def parts_of(path: str) -> list[str]:
    """The parts of a path below the session's home. Refuses whatever could lead out of it."""
    parts = path.split("/")
    if path.startswith("/home/sandbox/"):
        parts = parts[3:]
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise UnsafePath(
            f"not a path below the session's home: {path!r}",
            remedy="use one such as 'data/in.csv': relative, without '.', '..' or empty parts",
        )
    return parts


def create(settings: Settings) -> Call:
    patience = _INSTALL_S if settings.packages or settings.imports else Call.patience
    return Call("POST", "/v1/sessions", settings.body(), patience=patience)


class Creation:
    """The answer to `create` as a stream: progress of packages, then the session."""

    def __init__(self, on_progress: Callable[[str], object]) -> None:
        self._on_progress = on_progress
        self._rest = b""
        self.session: dict[str, Any] | None = None

    def feed(self, block: bytes, *, last: bool = False) -> None:
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in [*lines, self._rest] if last else lines:
            if line.strip():
                self._take(json.loads(line))

    def _take(self, given: dict[str, Any]) -> None:
        kind = given.get("type")
        if kind == "progress":
            self._on_progress(str(given.get("text", "")))
        elif kind == "problem":
            raise problem_error(given["problem"])
        else:  # without packages to install, the session comes by itself
            self.session = given.get("session", given)

    def result(self) -> dict[str, Any]:
        self.feed(b"", last=True)
        if self.session is None:
            raise ConnectionLost("the stream ended early", remedy="create the session again")
        return self.session


def execute(session: str, execution: Execution, session_limit: float) -> Call:
    return Call(
        "POST",
        session_path(session, "/exec"),
        execution.body(),
        patience=execution.patience(session_limit),
    )


def run_once(settings: Settings, execution: Execution) -> Call:
    limit = (settings.limits or {}).get("exec_timeout_s", DEFAULT_EXEC_TIMEOUT_S)
    body = {**settings.body(), **execution.body()}
    if settings.env and execution.env:
        body["env"] = {**settings.env, **execution.env}
    return Call("POST", "/v1/run", body, patience=execution.patience(limit))


def history(session: str, limit: int, after: str | None) -> Call:
    params = {"limit": str(max(1, min(limit, 500)))}
    if after is not None:
        params["after"] = after
    return Call("GET", session_path(session, "/executions"), params=params)


def reset(session: str, files: Literal["wipe", "keep"]) -> Call:
    return Call("POST", session_path(session, "/reset"), {"files": files})


def listing(session: str, path: str, *, archive: bool = False) -> Call:
    params = {"path": "/".join(parts_of(path))} if path not in ("", ".") else {}
    if archive:
        params["archive"] = "tar"
    return Call("GET", session_path(session, "/files"), params=params)


def parse_session(given: Mapping[str, Any]) -> SessionInfo:
    return SessionInfo(
        id=str(given["id"]),
        name=str(given.get("name", "")),
        state=str(given.get("state", "")),
        isolation=str(given.get("isolation", "")),
        policy=str(given.get("policy", "")),
        created_at=str(given.get("created_at", "")),
        limits=cast(Limits, given.get("limits") or {}),
        notes=[str(note) for note in given.get("notes") or []],
        seed=given.get("seed"),
        death=given.get("death"),
    )


def parse_listing(given: Mapping[str, Any]) -> list[FileInfo]:
    return [
        FileInfo(
            str(one["name"]), one["type"], int(one.get("size", 0)), int(one.get("modified_ms", 0))
        )
        for one in given.get("files") or []
    ]


def exec_limit(info: SessionInfo) -> float:
    return float(info.limits.get("exec_timeout_s", DEFAULT_EXEC_TIMEOUT_S))


def _strip(capture: Capture | bool) -> dict[str, Any] | None:
    """True is the plain wish: whenever the screen has changed."""
    if capture is True:
        return {"on_change": True}
    return dict(capture) if capture else None


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _texts(name: str, given: Sequence[str]) -> list[str] | None:
    if isinstance(given, str):
        raise VitrineError(f"{name} is a list of names", remedy=f"{name}=[{given!r}]")
    return list(given) or None
