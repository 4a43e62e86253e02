# SPDX-License-Identifier: Apache-2.0
"""The `Result` of an execution, and the `Event`s before it.

Everything in here was chosen by untrusted code. It is data: nothing is unpickled or evaluated, and
a notebook shows it without running scripts in it.
"""

from __future__ import annotations

import ast
import base64
import binascii
import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .errors import ExecutionFailed, NotPlainData, VitrineError, problem_error

if TYPE_CHECKING:
    from PIL.Image import Image

Outcome = Literal["ok", "exception", "policy", "interrupted", "timeout", "oom", "crashed"]
Bundle = dict[str, Any]
"""One result in several forms, by MIME type: {"text/plain": "42"}."""

_LITERAL_LIMIT = 1 << 20


@dataclasses.dataclass(frozen=True)
class ErrorInfo:
    """The uncaught exception in the sandbox. `traceback` is text."""

    name: str
    value: str
    traceback: str


@dataclasses.dataclass(frozen=True)
class Usage:
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    peak_memory_kb: int = 0


@dataclasses.dataclass(frozen=True)
class Frame:
    """A screenshot taken during an execution, as `capture` requested."""

    at_ms: int
    """Since the execution began."""
    stdout_offset: int
    """Bytes of stdout that had come by then."""
    line: int | None
    """Of the code that ran then; None if nobody knows, or the code was over."""
    png: bytes = dataclasses.field(repr=False)

    @property
    def image(self) -> Image:
        """As a PIL image. Needs Pillow."""
        return to_image(self.png)


@dataclasses.dataclass(frozen=True, repr=False)
class Result:
    """A finished execution.

    >>> result = box.run("print('hi'); 6 * 7")
    >>> result.ok, result.stdout, result.text, result.value
    (True, 'hi\\n', '42', 42)

    `str(result)` is the text that a terminal would show; it is also suitable for a model.
    """

    id: str
    session: str
    outcome: Outcome
    exit_code: int
    stdout: str
    stderr: str
    results: list[Bundle]
    error: ErrorInfo | None
    state_kept: bool
    """False: the session is dead, and its variables are gone. `reset()` gives a fresh one."""
    notes: list[str]
    """Remarks of the server for whoever wrote the code."""
    usage: Usage
    truncated: bool = False
    """Whether stdout or stderr was longer than `output_kb` and lost its middle."""
    started_at: str = ""
    network: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """Connections that were asked for, in a session with a network: what was decided, and why."""
    screenshot_png: bytes | None = dataclasses.field(default=None, repr=False)
    frames: list[Frame] = dataclasses.field(default_factory=list, repr=False)
    """Pictures on the way, if `capture` asked for them."""

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    @property
    def text(self) -> str:
        """The last value as `repr` shows it; "" if there was none. Figures do not count."""
        found = self._main()
        return str(found.get("text/plain", "")) if found else ""

    @property
    def value(self) -> Any:
        """The last value as Python data: numbers, text, lists, dicts ...; None if there was none.

        It comes from JSON or from a Python literal, never from a pickle. Anything else raises
        `NotPlainData`; `text` always works.
        """
        found = self._main()
        if found is None:
            return None
        if "application/json" in found:
            return found["application/json"]
        text = str(found.get("text/plain", ""))
        try:
            if len(text) > _LITERAL_LIMIT:
                raise ValueError
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise NotPlainData(
                f"the value is not plain data: {_shorten(text, 80)}",
                remedy="read `text`, or let the code end in plain data or print JSON",
            ) from None

    @property
    def html(self) -> str | None:
        """The last HTML that was shown, such as a data frame. Untrusted: do not render it as is."""
        found = [str(one["text/html"]) for one in self.results if "text/html" in one]
        return found[-1] if found else None

    @property
    def images(self) -> list[bytes]:
        """All images, as PNG or JPEG files: plots, PIL images, `display()`."""
        found = []
        for bundle in self.results:
            for kind in ("image/png", "image/jpeg"):
                if kind in bundle:
                    found.append(_decode(bundle[kind]))
                    break
        return found

    @property
    def screenshot(self) -> Image | None:
        """The screenshot, if it was requested and taken; else `notes` say why. Needs Pillow."""
        if self.screenshot_png is None:
            return None
        return to_image(self.screenshot_png)

    def check(self) -> Result:
        """Itself if the outcome is ok; else raises `ExecutionFailed`."""
        if not self.ok:
            raise ExecutionFailed(self)
        return self

    def _main(self) -> Bundle | None:
        for bundle in reversed(self.results):
            if "text/plain" in bundle and not any(kind.startswith("image/") for kind in bundle):
                return bundle
        return None

    def __repr__(self) -> str:
        parts: list[str] = [self.outcome]
        if self.error:
            parts.append(f"error={_shorten(f'{self.error.name}: {self.error.value}', 60)!r}")
        for name in ("stdout", "stderr", "text"):
            if text := getattr(self, name):
                parts.append(f"{name}={_shorten(text, 60)!r}")
        if images := self.images:
            parts.append(f"images={len(images)}")
        if self.frames:
            parts.append(f"frames={len(self.frames)}")
        if not self.state_kept:
            parts.append("state_kept=False")
        return f"<Result {', '.join(parts)}; {self.usage.wall_ms:.1f} ms>"

    def __str__(self) -> str:
        pieces = [self.stdout, self.stderr]
        pieces += [str(one["text/plain"]) for one in self.results if "text/plain" in one]
        if self.error:
            pieces.append(self.error.traceback or f"{self.error.name}: {self.error.value}")
        elif not self.ok:
            pieces.append(f"[{self.outcome}, exit code {self.exit_code}]")
        pieces += [f"[note: {note}]" for note in self.notes]
        return "\n".join(piece.rstrip("\n") for piece in pieces if piece)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from .notebook import as_html

        return {"text/plain": str(self), "text/html": as_html(self)}


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happened while code ran.

    `type` is stdout or stderr (`text`), result (`data`, a MIME bundle), error (`error`),
    note (`text`), frame (`frame`, a screenshot), or, as the last one, finished (`result`).
    """

    type: str
    text: str = ""
    data: Bundle = dataclasses.field(default_factory=dict)
    error: ErrorInfo | None = None
    result: Result | None = None
    display_id: str | None = None
    update: bool = False
    frame: Frame | None = None


@dataclasses.dataclass(frozen=True)
class PastExecution:
    """One row of a session's history; `result` is None while it runs."""

    id: str
    code: str
    state: str
    started_at: str
    result: Result | None


@dataclasses.dataclass(frozen=True)
class Stack:
    """The stack of a session's code. `text` is None if it did not answer within a second."""

    running: bool
    execution: str | None
    text: str | None


def parse_result(given: Mapping[str, Any]) -> Result:
    """From the server's JSON. Unknown fields are ignored: newer servers say more."""
    error = given.get("error")
    usage = given.get("usage") or {}
    cut = given.get("truncated") or {}
    shot = given.get("screenshot")
    return Result(
        id=str(given["id"]),
        session=str(given.get("session", "")),
        outcome=given["outcome"],
        exit_code=int(given["exit_code"]),
        stdout=str(given.get("stdout", "")),
        stderr=str(given.get("stderr", "")),
        results=[dict(one) for one in given.get("results") or []],
        error=parse_error(error) if error else None,
        state_kept=bool(given.get("state_kept", False)),
        notes=[str(note) for note in given.get("notes") or []],
        usage=Usage(
            float(usage.get("wall_ms", 0)),
            float(usage.get("cpu_ms", 0)),
            int(usage.get("peak_memory_kb", 0)),
        ),
        truncated=bool(cut.get("stdout") or cut.get("stderr")),
        started_at=str(given.get("started_at", "")),
        network=[dict(one) for one in given.get("network") or []],
        screenshot_png=_decode(shot) if shot else None,
        frames=[parse_frame(one) for one in given.get("frames") or []],
    )


def parse_frame(given: Mapping[str, Any]) -> Frame:
    line = given.get("line")
    return Frame(
        int(given.get("at_ms", 0)),
        int(given.get("stdout_offset", 0)),
        int(line) if line is not None else None,
        _decode(given.get("image", "")),
    )


def parse_error(given: Mapping[str, Any]) -> ErrorInfo:
    return ErrorInfo(
        str(given.get("name", "")), str(given.get("value", "")), str(given.get("traceback", ""))
    )


OnEvent = Callable[[Event], object]


def parse_event(line: bytes) -> Event:
    given = json.loads(line)
    if given.get("type") == "problem":
        raise problem_error(given["problem"])
    finished = given.get("execution")
    return Event(
        type=str(given["type"]),
        text=str(given.get("text", "")),
        data=dict(given.get("data") or {}),
        error=parse_error(given["error"]) if given.get("error") else None,
        result=parse_result(finished) if finished else None,
        display_id=given.get("display_id"),
        update=bool(given.get("update", False)),
        frame=parse_frame(given) if given["type"] == "frame" else None,
    )


def parse_past(given: Mapping[str, Any]) -> PastExecution:
    state = str(given.get("state", "finished"))
    return PastExecution(
        str(given["id"]),
        str(given.get("code", "")),
        state,
        str(given.get("started_at", "")),
        parse_result(given) if state == "finished" else None,
    )


def to_image(data: bytes) -> Image:
    """A PIL image, of one of the formats that a session may answer and of no other."""
    try:
        import io

        from PIL import Image
    except ImportError:
        raise VitrineError(
            "images as objects need Pillow", remedy="pip install 'vitrine[images]'"
        ) from None
    return Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP"))


def _decode(text: object) -> bytes:
    try:
        return base64.b64decode(str(text))
    except binascii.Error:
        return b""


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
