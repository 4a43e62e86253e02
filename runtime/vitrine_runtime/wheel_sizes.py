# SPDX-License-Identifier: Apache-2.0
"""How large packages are, before they are downloaded.

The index, or whoever holds its files, says how long a wheel is. Of a large one the directory at its
end is read too, which says how large its files are. Neither is believed: they only refuse early.
What lies meets the limit of the disk.
"""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.request import Request, urlopen

from .index_pages import context
from .installer_errors import Failed
from .sealed import __builtins__  # noqa: F401

LARGE = 16 << 20  # bytes of a wheel whose directory is read
MOST = 32 << 20  # bytes that are read of one wheel for that
PATIENCE = 10.0  # seconds for one answer


class Remote(io.RawIOBase):
    """A file on a server, read in pieces."""

    def __init__(self, url: str, size: int) -> None:
        self._url, self._size, self._at, self._read = url, size, 0, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._at + size)
        if end <= self._at:
            return b""
        self._read += end - self._at
        if self._read > MOST:
            raise OSError("the directory of a wheel is too large")
        headers = {"Range": f"bytes={self._at}-{end - 1}", "Accept-Encoding": "identity"}
        with urlopen(Request(self._url, headers=headers), None, PATIENCE, context=context()) as got:
            if got.status != 206:
                raise OSError("the server has no ranges")
            data: bytes = got.read(end - self._at)
        self._at += len(data)
        return data


def size_of(url: str) -> int:
    """Bytes that the wheel takes on disk, as far as its server says; 0 if it does not."""
    try:
        request = Request(url, method="HEAD", headers={"Accept-Encoding": "identity"})
        with urlopen(request, None, PATIENCE, context=context()) as answer:
            packed = max(0, int(answer.headers.get("Content-Length") or 0))
    except (OSError, ValueError):
        return 0
    if packed < LARGE:
        return packed
    try:
        with zipfile.ZipFile(Remote(url, packed)) as wheel:  # type: ignore[arg-type]
            return max(packed, sum(entry.file_size for entry in wheel.infolist()))
    except (OSError, ValueError, zipfile.BadZipFile):
        return packed


def check(wheels: dict[str, str], limit: int) -> None:
    """`wheels` are URLs by name. Raises too_big if they are known not to fit."""
    with ThreadPoolExecutor(16) as pool:
        sizes = dict(zip(wheels, pool.map(size_of, wheels.values()), strict=True))
    total = sum(sizes.values())
    if total <= limit:
        return
    largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
    named = ", ".join(f"{name} {shown(sizes[name])}" for name in largest)
    raise Failed(
        "too_big", f"needs {shown(total)}, the limit is {limit_shown(limit)} (--layer-mb); {named}"
    )


def shown(size: int) -> str:
    if size >= 1_000_000_000:
        return f"{size / 1e9:.1f} GB"
    return f"{max(1, round(size / 1e6))} MB"


def limit_shown(limit: int) -> str:
    return f"{limit >> 30} GiB" if limit % (1 << 30) == 0 else f"{limit >> 20} MiB"


def urls_of(lock: dict[str, Any], names: set[str]) -> dict[str, str]:
    """From a pylock.toml, which has the one wheel of each package that fits here."""
    found: dict[str, str] = {}
    for package in lock.get("packages", []):
        for wheel in package.get("wheels", [])[:1]:
            url = str(wheel.get("url", ""))
            if package.get("name") in names and url.startswith(("http://", "https://")):
                found[str(package["name"])] = url
    return found
