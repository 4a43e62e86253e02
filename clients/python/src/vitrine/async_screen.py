# SPDX-License-Identifier: Apache-2.0
"""A session's display: screenshots, windows, input, recordings."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping
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

    from .transport import AsyncTransport


class AsyncScreen:
    """The part of `AsyncSandbox` that works on the session's display."""

    _wait_s: float
    id: str

    @property
    def _live(self) -> AsyncTransport:
        raise NotImplementedError

    async def screenshot(
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
        async with self._live.stream(call) as response:
            return to_image(await response.aread())

    async def windows(self) -> list[Window]:
        """The windows from top to bottom; empty if there are none."""
        return parse_windows(await self._live.call(Call("GET", session_path(self.id, "/windows"))))

    async def input(self, *events: Mapping[str, Any]) -> None:
        """Sends mouse and keyboard events, in order: all of them or none (docs/display.md).

        >>> await box.input({"type": "click", "x": 2, "y": 3}, {"type": "text", "text": "hello"})
        """
        await self._live.call(input_call(self.id, events))

    async def click(self, x: int, y: int, *, button: int = 1, count: int = 1) -> None:
        await self.input(click_event(x, y, button, count))

    async def start_recording(
        self,
        *,
        fps: int | None = None,
        format: FilmFormat = "mp4",
        max_seconds: int | None = None,
        max_mb: int | None = None,
    ) -> AsyncRecording:
        """Records the display until `stop()`, its limit of time or size, or the session's end."""
        call = start_call(self.id, fps, format, max_seconds, max_mb)
        shown = await self._live.call(call, wait_s=self._wait_s)
        return AsyncRecording(self._live, parse_recording(shown))

    @contextlib.asynccontextmanager
    async def record(
        self,
        to: str | os.PathLike[str] | None = None,
        *,
        fps: int | None = None,
        format: FilmFormat | None = None,
        max_seconds: int | None = None,
        max_mb: int | None = None,
    ) -> AsyncIterator[AsyncRecording]:
        """Records during its block and writes the recording to `to`, whose name selects the format.

        >>> async with box.record("demo.mp4"):
        ...     await box.run(code)
        """
        recording = await self.start_recording(
            fps=fps, format=format or format_of(to), max_seconds=max_seconds, max_mb=max_mb
        )
        try:
            yield recording
        finally:
            await recording.stop()
            if to is not None:
                await recording.save(to)

    async def recordings(self) -> list[AsyncRecording]:
        """The session's recordings, oldest first."""
        shown = await self._live.call(Call("GET", session_path(self.id, "/recordings")))
        return [AsyncRecording(self._live, parse_recording(one)) for one in shown["recordings"]]


class AsyncRecording:
    """One recording. The file stays at the server after the session's end, until `delete()`."""

    def __init__(self, transport: AsyncTransport, info: RecordingInfo) -> None:
        self._transport = transport
        self.info = info
        """As of the last call."""

    @property
    def id(self) -> str:
        return self.info.id

    async def stop(self) -> RecordingInfo:
        """Ends it. No error if it has already ended."""
        shown = await self._transport.call(film_call("POST", self.info, "/stop"))
        self.info = parse_recording(shown)
        return self.info

    async def iter_bytes(self) -> AsyncIterator[bytes]:
        """The recording's bytes; mp4 and webm also while they are recorded."""
        async with self._transport.stream(film_call("GET", self.info)) as response:
            async for part in response.aiter_bytes(CHUNK):
                yield part

    async def read(self) -> bytes:
        return b"".join([part async for part in self.iter_bytes()])

    async def save(self, to: str | os.PathLike[str]) -> Path:
        """Writes the recording to a file, which is replaced once the new one is complete."""
        target = Path(to)
        with open_fresh(target) as sink:
            async for part in self.iter_bytes():
                await asyncio.to_thread(sink.write, part)
        return target

    async def delete(self) -> None:
        await self._transport.call(film_call("DELETE", self.info))

    async def __aenter__(self) -> AsyncRecording:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def __repr__(self) -> str:
        return f"<AsyncRecording {self.id} {self.info.state}>"
