# SPDX-License-Identifier: Apache-2.0
"""`!cmd`, `x = !cmd`, `%magic` and `name?` turned into Python, line for line.

Called only for cells that do not compile as they are, so valid Python is never touched. A small
scanner follows strings, brackets, comments and continuation lines, since only the start of a
statement (or what follows its `=`) may be one of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .sealed import __builtins__  # noqa: F401

HOOK = "__vitrine__"  # a builtin of the session; see `magics`

_MAGIC = re.compile(r"%([A-Za-z_]\w*)(?:\s+(.*))?$", re.DOTALL)
_CELL_MAGIC = re.compile(r"%%([A-Za-z_]\w*)[ \t]*(.*)$")
_BARE_PIP = re.compile(r"(pip3?|conda|uv|python3?\s+-m)\s+(?:pip\s+)?install\s+\S")
_ASK = re.compile(r"(?:\?{1,2}\s*([A-Za-z_][\w.]*)|([A-Za-z_][\w.]*)\s*\?{1,2})$")


class CellMagic:
    """A cell that starts with `%%name`."""

    __slots__ = ("name", "arguments", "body", "offset")

    def __init__(self, name: str, arguments: str, body: str, offset: int) -> None:
        self.name = name
        self.arguments = arguments
        self.body = body
        self.offset = offset  # lines of the cell before the body


def cell_magic(source: str) -> CellMagic | None:
    stripped = source.lstrip()
    if not stripped.startswith("%%"):
        return None
    first, _, body = stripped.partition("\n")
    found = _CELL_MAGIC.match(first.rstrip())
    if found is None:
        return None
    offset = source[: len(source) - len(stripped)].count("\n") + 1
    return CellMagic(found[1], found[2], body, offset)


def transform(source: str, check: Callable[[str], str | None]) -> str | None:
    """The cell as plain Python with the same line numbers; None if there is nothing to change.

    `check` says what is wrong with the name of a magic, which is then a SyntaxError.
    """
    lines = source.split("\n")
    lines = _without_common_indent(lines)
    changed = lines[0] != source.partition("\n")[0]
    scanner = _Scanner()
    out: list[str] = []
    i = 0
    while i < len(lines):
        line = lines[i]
        replaced = None
        if scanner.at_start():
            text = line.lstrip()
            call = _call(text)
            if call is not None:
                replaced = line[: len(line) - len(text)]
        if replaced is None:
            equals = scanner.feed(line)
            if equals >= 0:
                text = line[equals:].lstrip()
                call = _call(text, assigned=True)
                if call is not None:
                    replaced = line[:equals] + " "
        if replaced is None:
            out.append(line)
            i += 1
            continue
        _check(text, check, i + 1, line)
        whole, used = _with_continuation(lines, i, text)
        out.append(replaced + (_call(whole, assigned=replaced.rstrip() != "") or ""))
        out.extend([""] * (used - 1))
        i += used
        scanner.reset()
        changed = True
    return "\n".join(out) if changed else None


def _check(text: str, check: Callable[[str], str | None], row: int, line: str) -> None:
    found = _MAGIC.match(text)
    if found is not None:
        problem = check(found[1])
        if problem is not None:
            raise SyntaxError(problem, ("", row, line.index("%") + 1, line))
    elif text.startswith("%%"):
        problem = "a cell magic (%%name) must be the first line of its cell"
        raise SyntaxError(problem, ("", row, line.index("%") + 1, line))


def _without_common_indent(lines: list[str]) -> list[str]:
    """Code pasted from inside a block: every line shares the first one's indent."""
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    if not indent or not all(line.startswith(indent) or not line.strip() for line in lines):
        return lines
    return [line[len(indent) :] for line in lines]


def _with_continuation(lines: list[str], i: int, text: str) -> tuple[str, int]:
    used = 1
    while text.endswith("\\") and i + used < len(lines):
        text = f"{text}\n{lines[i + used]}"
        used += 1
    return text, used


def _call(text: str, assigned: bool = False) -> str | None:
    """The Python call that stands for `text`; None if it is not one of ours."""
    if text.startswith("!"):
        if text.startswith("!="):
            return None
        lines = assigned or text.startswith("!!")
        command = text.lstrip("!").strip()
        return f"{HOOK}.{'shell_lines' if lines else 'shell'}({command!r})"
    if text.startswith("%"):
        if text.startswith("%%"):
            return ""
        found = _MAGIC.match(text.replace("\\\n", " "))
        if found is None:
            return None
        return f"{HOOK}.magic({found[1]!r}, {(found[2] or '').strip()!r})"
    if assigned:
        return None
    if _BARE_PIP.match(text):
        return f"{HOOK}.magic('pip', {text.partition('install')[2].strip()!r}, bare=True)"
    found = _ASK.match(text.rstrip())
    if found is not None:
        return f"{HOOK}.explain({(found[1] or found[2])!r})"
    return None


class _Scanner:
    """Where in Python's syntax the end of the last line was."""

    __slots__ = ("_quote", "_depth", "_continued")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._quote = ""
        self._depth = 0
        self._continued = False

    def at_start(self) -> bool:
        return not self._quote and not self._depth and not self._continued

    def feed(self, line: str) -> int:
        """Reads a line; returns where the text after an assignment's `=` starts if that text
        begins with `!` or `%`, else -1. The line is then not read to its end."""
        self._continued = False
        i, end = 0, len(line)
        while i < end:
            char = line[i]
            if self._quote:
                i = self._in_string(line, i)
            elif char == "#":
                return -1
            elif char in "\"'":
                self._quote = char * 3 if line.startswith(char * 3, i) else char
                i += len(self._quote)
            elif char == "\\":
                self._continued = i == end - 1
                i += 2
            elif char == "=" and self._is_assignment(line, i):
                return i + 1
            else:
                if char in "([{":
                    self._depth += 1
                elif char in ")]}":
                    self._depth = max(0, self._depth - 1)
                i += 1
        if len(self._quote) == 1 and not line.endswith("\\"):
            self._quote = ""  # an unfinished string ends with its line
        return -1

    def _in_string(self, line: str, i: int) -> int:
        if line[i] == "\\":
            return i + 2
        if line.startswith(self._quote, i):
            i += len(self._quote)
            self._quote = ""
            return i
        return i + 1

    def _is_assignment(self, line: str, i: int) -> bool:
        if self._depth or (i and line[i - 1] in "=!<>+-*/%&|^@:"):
            return False
        rest = line[i + 1 :].lstrip()
        return rest[:1] in ("!", "%") and rest[:2] != "!="
