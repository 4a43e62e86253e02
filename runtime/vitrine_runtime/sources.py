# SPDX-License-Identifier: Apache-2.0
"""Where the source of a cell is found again: names of cells, and their lines in `linecache`."""

from __future__ import annotations

import linecache

from .sealed import __builtins__  # noqa: F401

MAX_CELLS = 1000
MAX_CHARS = 4 << 20

_cache = linecache.cache  # user code may rebind the name

Entry = tuple[int, None, "list[str]", str]


def lines_of(source: str) -> list[str]:
    """The lines as the compiler counts them (str.splitlines also splits at form feeds etc.)."""
    lines = [line + "\n" for line in source.split("\n")]
    if lines[-1] == "\n":
        lines.pop()
    return lines


class Sources:
    """The cells of a session, oldest dropped first once there are too many."""

    __slots__ = ("count", "_entries", "_chars")

    def __init__(self) -> None:
        self.count = 0
        self._entries: dict[str, Entry] = {}
        self._chars = 0

    def add(self, source: str) -> str:
        """Registers the next cell and returns its file name."""
        self.count += 1
        name = f"<cell {self.count}>"
        size = len(source)
        # No modification time: linecache.checkcache() then keeps the entry.
        entry = (size, None, lines_of(source), name)
        self._entries[name] = entry
        if linecache.cache is not _cache:
            linecache.cache = _cache
        _cache[name] = entry
        self._chars += size
        if self._chars > MAX_CHARS or len(self._entries) > MAX_CELLS:
            self._evict(name)
        return name

    def last(self) -> str:
        return f"<cell {self.count}>"

    def drop_last(self) -> None:
        """Undoes the last `add`."""
        name = f"<cell {self.count}>"
        self.count -= 1
        self._chars -= self._entries.pop(name)[0]
        _cache.pop(name, None)

    def refresh(self) -> None:
        """Puts back entries that user code cleared from `linecache`: all of them, or none."""
        entries = self._entries
        if entries and next(iter(entries)) in _cache and self.last() in _cache:
            return
        for name, entry in self._entries.items():
            if _cache.get(name) is not entry:
                _cache[name] = entry

    def quote(self, line: int) -> str:
        """A line of the last cell as a traceback shows it; "" if there is no such line."""
        lines = self._entries[self.last()][2] if self.last() in self._entries else []
        if not 0 < line <= len(lines):
            return ""
        return f'  File "{self.last()}", line {line}\n    {lines[line - 1].strip()[:200]}\n'

    def text(self, name: str) -> str | None:
        entry = self._entries.get(name)
        return None if entry is None else "".join(entry[2])

    def names(self) -> list[str]:
        return list(self._entries)

    def _evict(self, keep: str) -> None:
        entries = self._entries
        while self._chars > MAX_CHARS or len(entries) > MAX_CELLS:
            oldest = next(iter(entries))
            if oldest == keep:  # one cell larger than all that may be kept
                return
            self._chars -= entries.pop(oldest)[0]
            _cache.pop(oldest, None)
