# SPDX-License-Identifier: Apache-2.0
# Generated from async_files.py by clients/python/unasync.py: edit that one.
"""A session's files. Paths are relative to its home; both directions stream."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from . import calls
from .calls import Call, FileInfo, file_path
from .local_files import CHUNK, local_target, local_tree, pieces
from .untar import open_fresh, unpack

if TYPE_CHECKING:
    from .transport import Transport


Content = bytes | str | Iterable[bytes]
Listing = list[FileInfo]  # inside the class, `list` is a method


class Files:
    """
    >>> box.files.write("in.txt", "hello")
    >>> box.files.read_text("in.txt")
    'hello'
    >>> box.files.upload("data.csv")               # -> data.csv
    >>> box.files.download("out/plot.png")         # -> ./plot.png
    >>> box.files.download_directory("out", "results")

    They work while code runs, and after the session's process died.
    """

    def __init__(self, transport: Transport, session: str) -> None:
        self._transport = transport
        self._session = session

    def write(self, path: str, content: Content) -> None:
        """Creates or replaces a file, with its parents; text is written as UTF-8."""
        if isinstance(content, str):
            content = content.encode()
        call = Call("PUT", file_path(self._session, path))
        with self._transport.stream(call, content=content) as response:
            response.read()

    def read(self, path: str) -> bytes:
        return b"".join(list(self.iter_bytes(path)))

    def read_text(self, path: str) -> str:
        content = self.read(path)
        return content.decode()

    def iter_bytes(self, path: str) -> Iterator[bytes]:
        """A file's bytes, in chunks; for files that should not be read into memory as a whole."""
        call = Call("GET", file_path(self._session, path))
        with self._transport.stream(call) as response:
            yield from response.iter_bytes(CHUNK)

    def upload(self, local: str | os.PathLike[str], path: str | None = None) -> None:
        """Sends a local file; by default under its own name."""
        with open(local, "rb") as source:
            self.write(path or Path(local).name, pieces(source))

    def download(self, path: str, local: str | os.PathLike[str] | None = None) -> Path:
        """Fetches a file into `local`, a file or a directory; by default into the current one.

        An existing file is replaced once the new one is complete.
        """
        target = local_target(path, local)
        with open_fresh(target) as sink:
            for part in self.iter_bytes(path):
                sink.write(part)
        return target

    def list(self, path: str = "") -> Listing:
        shown = self._transport.call(calls.listing(self._session, path))
        return calls.parse_listing(shown)

    def delete(self, path: str) -> None:
        """Deletes a file, or a directory with its contents."""
        self._transport.call(Call("DELETE", file_path(self._session, path)))

    def archive(self, to: str | os.PathLike[str] | IO[bytes], path: str = "") -> None:
        """Writes a directory, by default the whole home, as a tar file."""
        if isinstance(to, str | os.PathLike):
            with open_fresh(Path(to)) as sink:
                self.archive(sink, path)
            return
        call = calls.listing(self._session, path, archive=True)
        with self._transport.stream(call) as response:
            for part in response.iter_bytes(CHUNK):
                to.write(part)

    def download_directory(self, path: str, local: str | os.PathLike[str]) -> Path:
        """Fetches a directory with its contents. Nothing is written outside `local`."""
        with tempfile.TemporaryFile() as spool:
            self.archive(spool, path)
            spool.seek(0)
            with tarfile.open(fileobj=spool, mode="r:") as tar:
                return unpack(tar, Path(local))

    def upload_directory(self, local: str | os.PathLike[str], path: str = "") -> None:
        """Sends every file below a local directory; links are not followed."""
        for source, target in local_tree(Path(local), path):
            self.upload(source, target)

    def __repr__(self) -> str:
        return f"<Files of {self._session}>"
