# SPDX-License-Identifier: Apache-2.0
"""Local files on both sides of a transfer, for `Files` and `AsyncFiles`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO

from . import calls

CHUNK = 1 << 16


def local_target(path: str, local: str | os.PathLike[str] | None) -> Path:
    name = calls.parts_of(path)[-1]
    if local is None:
        return Path(name)
    target = Path(local)
    return target / name if target.is_dir() else target


def local_tree(local: Path, path: str) -> Iterator[tuple[Path, str]]:
    """Each file below `local`, and its path in the session."""
    for directory, _, names in os.walk(local):
        for name in sorted(names):
            source = Path(directory, name)
            if source.is_file() and not source.is_symlink():
                below = source.relative_to(local).as_posix()
                yield source, f"{path}/{below}" if path else below


async def async_pieces(source: IO[bytes]) -> AsyncIterator[bytes]:
    """A file as `AsyncFiles.write` takes it."""
    while part := await asyncio.to_thread(source.read, CHUNK):
        yield part


def pieces(source: IO[bytes]) -> IO[bytes]:
    """A file as `Files.write` takes it: httpx reads it itself, and sends its length."""
    return source
