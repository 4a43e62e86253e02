# SPDX-License-Identifier: Apache-2.0
"""A session's files. Paths are relative to its home; both directions stream."""

from __future__ import annotations

import asyncio
import os
import tarfile
import tempfile
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from . import calls
from .calls import Call, FileInfo, file_path
from .local_files import CHUNK, async_pieces, local_target, local_tree
from .untar import open_fresh, unpack

if TYPE_CHECKING:
    from .transport import AsyncTransport


AsyncContent = bytes | str | AsyncIterable[bytes]
Listing = list[FileInfo]  # inside the class, `list` is a method


class AsyncFiles:
    """
    >>> await box.files.write("in.txt", "hello")
    >>> await box.files.read_text("in.txt")
    'hello'
    >>> await box.files.upload("data.csv")               # -> data.csv
    >>> await box.files.download("out/plot.png")         # -> ./plot.png
    >>> await box.files.download_directory("out", "results")

    They work while code runs, and after the session's process died.
    """

    def __init__(self, transport: AsyncTransport, session: str) -> None:
        self._transport = transport
        self._session = session

    async def write(self, path: str, content: AsyncContent) -> None:
        """Creates or replaces a file, with its parents; text is written as UTF-8."""
        if isinstance(content, str):
            content = content.encode()
        call = Call("PUT", file_path(self._session, path))
        async with self._transport.stream(call, content=content) as response:
            await response.aread()

    async def read(self, path: str) -> bytes:
        return b"".join([part async for part in self.iter_bytes(path)])

    async def read_text(self, path: str) -> str:
        content = await self.read(path)
        return content.decode()

    async def iter_bytes(self, path: str) -> AsyncIterator[bytes]:
        """A file's bytes, in chunks; for files that should not be read into memory as a whole."""
        call = Call("GET", file_path(self._session, path))
        async with self._transport.stream(call) as response:
            async for part in response.aiter_bytes(CHUNK):
                yield part

    async def upload(self, local: str | os.PathLike[str], path: str | None = None) -> None:
        """Sends a local file; by default under its own name."""
        with open(local, "rb") as source:
            await self.write(path or Path(local).name, async_pieces(source))

    async def download(self, path: str, local: str | os.PathLike[str] | None = None) -> Path:
        """Fetches a file into `local`, a file or a directory; by default into the current one.

        An existing file is replaced once the new one is complete.
        """
        target = local_target(path, local)
        with open_fresh(target) as sink:
            async for part in self.iter_bytes(path):
                await asyncio.to_thread(sink.write, part)
        return target

    async def list(self, path: str = "") -> Listing:
        shown = await self._transport.call(calls.listing(self._session, path))
        return calls.parse_listing(shown)

    async def delete(self, path: str) -> None:
        """Deletes a file, or a directory with its contents."""
        await self._transport.call(Call("DELETE", file_path(self._session, path)))

    async def archive(self, to: str | os.PathLike[str] | IO[bytes], path: str = "") -> None:
        """Writes a directory, by default the whole home, as a tar file."""
        if isinstance(to, str | os.PathLike):
            with open_fresh(Path(to)) as sink:
                await self.archive(sink, path)
            return
        call = calls.listing(self._session, path, archive=True)
        async with self._transport.stream(call) as response:
            async for part in response.aiter_bytes(CHUNK):
                await asyncio.to_thread(to.write, part)

    async def download_directory(self, path: str, local: str | os.PathLike[str]) -> Path:
        """Fetches a directory with its contents. Nothing is written outside `local`."""
        with tempfile.TemporaryFile() as spool:
            await self.archive(spool, path)
            spool.seek(0)
            with tarfile.open(fileobj=spool, mode="r:") as tar:
                return await asyncio.to_thread(unpack, tar, Path(local))

    async def upload_directory(self, local: str | os.PathLike[str], path: str = "") -> None:
        """Sends every file below a local directory; links are not followed."""
        for source, target in local_tree(Path(local), path):
            await self.upload(source, target)

    def __repr__(self) -> str:
        return f"<AsyncFiles of {self._session}>"
