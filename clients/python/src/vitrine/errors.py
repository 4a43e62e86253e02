# SPDX-License-Identifier: Apache-2.0
"""Everything that can go wrong, by type.

An exception *inside* a sandbox is not an error here: it is a `Result` with an `outcome`.
These are for calls that the server refused or that never reached it:

    >>> try:
    ...     box.run("1")
    ... except vitrine.SessionDead as error:
    ...     print(error.remedy)
    ...     box.reset()
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results import Result


class VitrineError(Exception):
    """The root of them all. `remedy` says what to do next, for people and for models."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(f"{message} ({remedy})" if remedy else message)
        self.remedy = remedy


class ConnectionFailed(VitrineError):
    """No server could be reached. Nothing was run."""


class ConnectionLost(VitrineError):
    """The connection broke before the end of the response. The code may have run: see history()."""


class StartFailed(VitrineError):
    """`vitrine.local()` could not start a server."""


class UnsafePath(VitrineError, ValueError):
    """A file path that leads out of the session's home, or out of the local directory."""


class NotPlainData(VitrineError, TypeError):
    """`Result.value` was read, but the value is neither JSON nor a Python literal."""


class ExecutionFailed(VitrineError):
    """Raised by `Result.check()` unless the outcome is ok. `result` has the details."""

    def __init__(self, result: Result) -> None:
        what = f"{result.error.name}: {result.error.value}" if result.error else result.outcome
        super().__init__(f"{result.outcome}, exit code {result.exit_code}: {what}")
        self.result = result


class ServerError(VitrineError):
    """The server refused the request; the subclasses say why.

    `status` is the HTTP status, `code` is for programs ("session_dead"), `detail` and
    `remedy` are for people and models. docs/api.md lists them all.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        remedy: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{status} {code}: {detail}", remedy=remedy)
        self.status = status
        self.code = code
        self.detail = detail
        self.retry_after = retry_after


class BadRequest(ServerError):
    """400, 405, 413, 415, 416, 422, 431: the request itself is wrong; do not repeat it."""


class InvalidField(BadRequest):
    """422: an unknown field, a wrong type, out of range, or not supported by this server."""


class TooLarge(BadRequest):
    """413: a body over the server's limit, or a file over the session's `disk_mb`."""


class NotAllowed(ServerError):
    """401, 403, 421: a token is needed, or this address may not call."""


class NotFound(ServerError):
    """404: no such session, execution or file, or it has ended or belongs to another tenant."""


class Conflict(ServerError):
    """409: a directory where a file is needed, or a reset during a reset."""


class SessionDead(ServerError):
    """410: the session's process is gone. `reset()` starts a new one; files can be read."""


class QueueFull(ServerError):
    """429: too many executions are queued in this session. Nothing was run."""


class Unavailable(ServerError):
    """503, 504: the server is at its capacity, starting or stopping. Nothing was run."""


class DiskFull(ServerError):
    """507: the session's files have reached `disk_mb`, or the server is out of space."""


_BY_STATUS: dict[int, type[ServerError]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    410: SessionDead,
    413: TooLarge,
    421: NotAllowed,
    422: InvalidField,
    429: QueueFull,
    503: Unavailable,
    504: Unavailable,
    507: DiskFull,
}


def problem_error(problem: Mapping[str, Any]) -> VitrineError:
    """Of a problem that came as a line of a stream."""
    return server_error(int(problem.get("status", 500)), dict(problem), {})


def server_error(status: int, body: object, headers: Mapping[str, str]) -> ServerError:
    """The error that a refused request means. `body` is what it carried, if that was JSON."""
    problem: Mapping[str, Any] = body if isinstance(body, dict) else {}
    kind = _BY_STATUS.get(status, BadRequest if status < 500 else ServerError)
    remedy = str(problem.get("remedy") or "")
    if status == 401 and not remedy:
        remedy = "pass token=, or set VITRINE_TOKEN"
    return kind(
        status,
        str(problem.get("code") or "unknown"),
        str(problem.get("detail") or "the server gave no reason"),
        remedy=remedy,
        retry_after=_seconds(headers.get("retry-after")),
    )


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text is not None else None
    except ValueError:
        return None
