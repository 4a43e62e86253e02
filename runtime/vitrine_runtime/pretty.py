# SPDX-License-Identifier: Apache-2.0
"""text/plain of a value: `repr`, laid out over lines and bounded, whatever the value does.

What fits into one line is exactly `repr`. Raises nothing but a KeyboardInterrupt.
"""

from __future__ import annotations

from itertools import islice

from .errors import FAILURES, name_of, value_of
from .sealed import __builtins__  # noqa: F401

WIDTH = 79
MAX_CHARS = 64 * 1024
MAX_ITEMS = 1000  # of one container
MAX_DEPTH = 40  # of containers in containers

BRACKETS = {
    list.__repr__: ("[", "]"),
    tuple.__repr__: ("(", ")"),
    dict.__repr__: ("{", "}"),
    set.__repr__: ("{", "}"),
}


def pretty(value: object) -> str:
    """The text of `value`."""
    try:
        return _Printer().layout(value, 0, 0)
    except FAILURES:  # a metaclass can make any attribute of a class raise
        return safe_repr(value)


def safe_repr(value: object) -> str:
    """repr() of anything, as a plain str."""
    try:
        text = repr(value)
        return text if type(text) is str else str.__str__(text)
    except FAILURES as error:
        kind = type.__dict__["__name__"].__get__(type(value))
        reason = value_of(error)
        if len(reason) > 200:
            reason = reason[:200] + "..."
        return f"<{kind} object: repr() raised {name_of(error)}: {reason}>"


class _Printer:
    __slots__ = ("_room", "_open")

    def __init__(self) -> None:
        self._room = MAX_CHARS
        self._open: set[int] = set()  # containers around the one being printed

    def layout(self, value: object, indent: int, depth: int) -> str:
        kind = type(value)
        brackets = BRACKETS.get(kind.__repr__)
        if brackets is None or (kind.__repr__ is set.__repr__ and kind is not set):
            return self._atom(kind, value)
        if id(value) in self._open or depth >= MAX_DEPTH:
            return f"{brackets[0]}...{brackets[1]}"
        self._open.add(id(value))
        try:
            return self._container(kind, value, brackets, indent, depth)
        except FAILURES:  # e.g. changed by another thread meanwhile, an iterator that raises
            return self._cut(safe_repr(value))
        finally:
            self._open.discard(id(value))

    def _atom(self, kind: type, value: object) -> str:
        if kind is str or kind is bytes or kind is bytearray:
            length = len(value)  # type: ignore[arg-type]
            if length > self._room:
                shown = safe_repr(value[: max(self._room, 80)])  # type: ignore[index]
                self._room = 0
                return f"{shown}... <cut: {length} in all>"
        return self._cut(safe_repr(value))

    def _cut(self, text: str) -> str:
        length = len(text)
        room = max(self._room, 80)
        self._room -= length
        if length <= room:
            return text
        return f"{text[:room]}... <cut: {length} characters in all>"

    def _container(
        self, kind: type, value, brackets: tuple[str, str], indent: int, depth: int
    ) -> str:
        opening, closing = brackets
        mapping = kind.__repr__ is dict.__repr__
        count = len(value)
        if not count:
            return repr(value)
        parts: list[str] = []
        inside = indent + 1
        for item in islice(dict.items(value) if mapping else iter(value), MAX_ITEMS):
            if self._room <= 0:
                break
            self._room -= 2
            if mapping:
                key = self.layout(item[0], inside, depth + 1)
                last = len(key) - key.rfind("\n") - 1
                parts.append(f"{key}: {self.layout(item[1], inside + last + 2, depth + 1)}")
            else:
                parts.append(self.layout(item, inside, depth + 1))
        if count > len(parts):
            parts.append(f"... <{count - len(parts)} more>")
        elif opening == "(" and count == 1:
            closing = ",)"
        return _join(parts, opening, closing, indent, mapping)


def _join(parts: list[str], opening: str, closing: str, indent: int, mapping: bool) -> str:
    """On one line if it fits, filled lines for short parts, else one part per line."""
    size = indent + len(opening) + len(closing) + sum(map(len, parts)) + 2 * (len(parts) - 1)
    one_line = not any("\n" in part for part in parts)
    if one_line and size <= WIDTH:
        return f"{opening}{', '.join(parts)}{closing}"
    margin = "\n" + " " * (indent + 1)
    if mapping or not one_line or max(map(len, parts)) > WIDTH // 3:
        return opening + f",{margin}".join(parts) + closing
    lines: list[str] = []
    line = ""
    for part in parts:
        if line and indent + 1 + len(line) + len(part) + 3 > WIDTH:
            lines.append(line)
            line = ""
        line = f"{line}, {part}" if line else part
    lines.append(line)
    return opening + f",{margin}".join(lines) + closing
