# SPDX-License-Identifier: Apache-2.0
"""Requests about a session's screen, and how answers are read; for `Screen` and `AsyncScreen`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from .calls import Call, session_path

FilmFormat = Literal["mp4", "webm", "gif", "apng"]
Region = tuple[int, int, int, int]
CHUNK = 1 << 18


@dataclasses.dataclass(frozen=True)
class Window:
    """A window on the screen. `z`: the highest is on top."""

    id: int
    title: str
    x: int
    y: int
    width: int
    height: int
    mapped: bool
    active: bool
    menu: bool
    z: int
    parent: int | None


@dataclasses.dataclass(frozen=True)
class RecordingInfo:
    """A recording as the server shows it. `reason`: why it ended; None while it runs."""

    id: str
    session: str
    state: Literal["recording", "ended"]
    format: FilmFormat
    fps: int
    width: int
    height: int
    started_at: str
    frames: int
    seconds: float
    bytes: int
    reason: str | None = None
    detail: str | None = None


def picture_call(
    session: str,
    region: Region | None,
    window: str | int | None,
    scale: float | None,
    wait_still: bool,
    max_ms: int | None,
    cursor: bool,
) -> Call:
    wishes = {
        "region": None if region is None else ",".join(map(str, region)),
        "window": None if window is None else str(window),
        "scale": None if scale is None else str(scale),
        "wait": "still" if wait_still else None,
        "max_ms": None if max_ms is None else str(max_ms),
        "cursor": "true" if cursor else None,
    }
    params = {name: value for name, value in wishes.items() if value is not None}
    return Call("GET", session_path(session, "/screenshot"), params=params, patience=90.0)


def input_call(session: str, events: tuple[Mapping[str, Any], ...]) -> Call:
    body = {"events": [dict(event) for event in events]}
    return Call("POST", session_path(session, "/input"), body, patience=90.0)


def click_event(x: int, y: int, button: int, count: int) -> dict[str, Any]:
    return {"type": "click", "x": x, "y": y, "button": button, "count": count}


def start_call(
    session: str, fps: int | None, form: str, max_seconds: int | None, max_mb: int | None
) -> Call:
    wishes = {"fps": fps, "format": form, "max_seconds": max_seconds, "max_mb": max_mb}
    body = {name: value for name, value in wishes.items() if value is not None}
    return Call("POST", session_path(session, "/recordings"), body)


def film_call(method: str, info: RecordingInfo, below: str = "") -> Call:
    return Call(method, session_path(info.session, f"/recordings/{info.id}{below}"))


def format_of(name: str | os.PathLike[str] | None) -> FilmFormat:
    endings: dict[str, FilmFormat] = {
        ".webm": "webm", ".gif": "gif", ".apng": "apng", ".png": "apng"
    }  # fmt: skip
    return "mp4" if name is None else endings.get(Path(name).suffix.lower(), "mp4")


def parse_windows(given: Mapping[str, Any]) -> list[Window]:
    names = [field.name for field in dataclasses.fields(Window)]
    return [Window(**{name: one.get(name) for name in names}) for one in given["windows"]]


def parse_recording(given: Mapping[str, Any]) -> RecordingInfo:
    names = [field.name for field in dataclasses.fields(RecordingInfo)]
    values: dict[str, Any] = {name: given.get(name) for name in names}
    return RecordingInfo(**values)
