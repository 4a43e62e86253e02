# SPDX-License-Identifier: Apache-2.0
# Generated from async_screen.py by clients/python/unasync.py: edit that one.
"""A session's display: screenshots, windows, input, recordings."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .calls import Call, session_path
from .results import to_image
from .screen_calls import (
    CHUNK,
    FilmFormat,
    RecordingInfo,
    Region,
    Window,
    click_event,
    film_call,
    format_of,
    input_call,
    parse_recording,
    parse_windows,
    picture_call,
    start_call,
)
from .untar import open_fresh

if TYPE_CHECKING:
    from PIL.Image import Image

    from .transport import Transport


class Screen:
    """The part of `Sandbox` that works on the session's display."""

    _wait_s: float
    id: str

    @property
    def _live(self) -> Transport:
        raise NotImplementedError

    def screenshot(
        self,
        *,
        region: Region | None = None,
        window: str | int | None = None,
        scale: float | None = None,
        wait_still: bool = False,
        max_ms: int | None = None,
        cursor: bool = False,
    ) -> Image:
        """A screenshot as a PIL image, also while code runs. Needs Pillow.

        Args:
            region: x, y, width, height of the part to capture.
            window: a title, a part of one, or an id: only this window.
            scale: 0.01 to 1.
            wait_still: waits until nothing has changed for a moment, at most `max_ms`.
            cursor: paints an arrow where input left the pointer.
        """
        call = picture_call(self.id, region, window, scale, wait_still, max_ms, cursor)
        with self._live.stream(call) as response:
            return to_image(response.read())

    def windows(self) -> list[Window]:
        """The windows from top to bottom; empty if there are none."""
        return parse_windows(self._live.call(Call("GET", session_path(self.id, "/windows"))))

    def input(self, *events: Mapping[str, Any]) -> None:
        """Sends mouse and keyboard events, in order: all of them or none (docs/display.md).

        >>> box.input({"type": "click", "x": 2, "y": 3}, {"type": "text", "text": "hello"})
        """
        self._live.call(input_call(self.id, events))

    def click(self, x: int, y: int, *, button: int = 1, count: int = 1) -> None:
        self.input(click_event(x, y, button, count))

    def start_recording(
        self,
        *,
        fps: int | None = None,
        format: FilmFormat = "mp4",
        max_seconds: int | None = None,
        max_mb: int | None = None,
    ) -> Recording:
        """Records the display until `stop()`, its limit of time or size, or the session's end."""
        call = start_call(self.id, fps, format, max_seconds, max_mb)
        shown = self._live.call(call, wait_s=self._wait_s)
        return Recording(self._live, parse_recording(shown))

    @contextlib.contextmanager
    def record(
        self,
        to: str | os.PathLike[str] | None = None,
        *,
        fps: int | None = None,
        format: FilmFormat | None = None,
        max_seconds: int | None = None,
        max_mb: int | None = None,
    ) -> Iterator[Recording]:
        """Records during its block and writes the recording to `to`, whose name selects the format.

        >>> with box.record("demo.mp4"):
        ...     box.run(code)
        """
        recording = self.start_recording(
            fps=fps, format=format or format_of(to), max_seconds=max_seconds, max_mb=max_mb
        )
        try:
            yield recording
        finally:
            recording.stop()
            if to is not None:
                recording.save(to)

    def recordings(self) -> list[Recording]:
        """The session's recordings, oldest first."""
        shown = self._live.call(Call("GET", session_path(self.id, "/recordings")))
        return [Recording(self._live, parse_recording(one)) for one in shown["recordings"]]


class Recording:
    """One recording. The file stays at the server after the session's end, until `delete()`."""

    def __init__(self, transport: Transport, info: RecordingInfo) -> None:
        self._transport = transport
        self.info = info
        """As of the last call."""

    @property
    def id(self) -> str:
        return self.info.id

    def stop(self) -> RecordingInfo:
        """Ends it. No error if it has already ended."""
        shown = self._transport.call(film_call("POST", self.info, "/stop"))
        self.info = parse_recording(shown)
        return self.info

    def iter_bytes(self) -> Iterator[bytes]:
        """The recording's bytes; mp4 and webm also while they are recorded."""
        with self._transport.stream(film_call("GET", self.info)) as response:
            yield from response.iter_bytes(CHUNK)

    def read(self) -> bytes:
        return b"".join(list(self.iter_bytes()))

    def save(self, to: str | os.PathLike[str]) -> Path:
        """Writes the recording to a file, which is replaced once the new one is complete."""
        target = Path(to)
        with open_fresh(target) as sink:
            for part in self.iter_bytes():
                sink.write(part)
        return target

    def delete(self) -> None:
        self._transport.call(film_call("DELETE", self.info))

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Recording {self.id} {self.info.state}>"
