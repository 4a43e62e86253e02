# SPDX-License-Identifier: Apache-2.0
"""The text Python would print for an exception, bounded and without the runtime's own frames."""

from __future__ import annotations

import io
import os
import sys
import traceback
from types import TracebackType

from .sealed import __builtins__  # noqa: F401

OWN_FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
LOOP_FILE = os.path.join(OWN_FILES, "aio.py")
MAX_FRAMES = 2000  # of one traceback; more are cut from the middle before formatting
MAX_LINES = 300  # of the text; Python's own folding of repeated lines comes first
MAX_LINE = 2000
MAX_TEXT = 100_000  # characters; the frame holds a MiB

_CUT = "<cut>"
_HINT = ". Did you mean: "
_print_by_c = sys.__excepthook__
# Past whatever a class of user code makes of these attributes.
_get_traceback = BaseException.__dict__["__traceback__"].__get__
_set_traceback = BaseException.__dict__["__traceback__"].__set__
_get_cause = BaseException.__dict__["__cause__"].__get__
_get_context = BaseException.__dict__["__context__"].__get__


def strip(error: BaseException) -> None:
    """Takes the runtime's frames out of `error` and of all that hangs on it."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting and len(seen) < 10_000:
        item = waiting.pop()
        if item is None or id(item) in seen:
            continue
        seen.add(id(item))
        _set_traceback(item, without_own_frames(_get_traceback(item)))
        waiting += (_get_cause(item), _get_context(item))
        parts = getattr(item, "exceptions", None)
        if type(parts) is tuple:
            waiting += [part for part in parts if isinstance(part, BaseException)]


def without_own_frames(tb: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    dropped = 0
    in_loop = False  # between our start of the event loop and our coroutine in it
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename.startswith(OWN_FILES):
            dropped += 1
            if code.co_filename == LOOP_FILE:
                in_loop = code.co_name == "run"
        elif in_loop:
            dropped += 1
        else:
            kept.append(tb)
        tb = tb.tb_next
    if not kept:
        return None
    if dropped:
        kept[-1].tb_next = None
        for i in range(len(kept) - 2, -1, -1):
            if kept[i].tb_next is not kept[i + 1]:
                kept[i].tb_next = kept[i + 1]
    return kept[0]


def format_error(error: BaseException) -> str:
    """The text for a stripped `error`. May raise whatever user code in it raises."""
    # limit=0: it would walk every traceback of the chain to the end, however long.
    formatted = traceback.TracebackException(
        type(error), error, error.__traceback__, limit=0, compact=True
    )
    _fill_stacks(formatted, error)
    lines: list[str] = []
    for chunk in formatted.format():
        lines += chunk.splitlines()
    if sys.version_info < (3, 12) and issubclass(type(error), (NameError, AttributeError)):
        _add_hint(lines, error)
    return _bounded_text("\n".join(_bounded(lines)) + "\n")


def _bounded_text(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2
    return f"{text[:half]}\n  [... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def _fill_stacks(formatted: traceback.TracebackException, error: BaseException) -> None:
    waiting: list[tuple[traceback.TracebackException | None, BaseException | None]]
    waiting = [(formatted, error)]
    while waiting:
        shape, item = waiting.pop()
        if shape is None or item is None:
            continue
        tb = item.__traceback__
        # None instead of an empty stack: then there is no "Traceback" header either.
        shape.stack = None if tb is None else _extract(tb)  # type: ignore[assignment]
        waiting += ((shape.__cause__, item.__cause__), (shape.__context__, item.__context__))
        parts = getattr(shape, "exceptions", None)
        if parts:
            waiting += zip(parts, item.exceptions, strict=False)  # type: ignore[attr-defined]


# From Python 3.11 on frames come with columns, for the marks below a source line.
_walk = getattr(traceback, "_walk_tb_with_full_positions", traceback.walk_tb)
_summary = getattr(
    traceback.StackSummary, "_extract_from_extended_frame_gen", traceback.StackSummary.extract
)


def _extract(tb: TracebackType) -> traceback.StackSummary:
    frames = list(_walk(tb))
    if len(frames) <= MAX_FRAMES:
        return _summary(iter(frames))
    half = MAX_FRAMES // 8
    stack = _summary(iter(frames[:half]))
    left_out = len(frames) - 2 * half
    stack.append(traceback.FrameSummary(_CUT, left_out, "", lookup_line=False, line=""))
    stack.extend(_summary(iter(frames[-half:])))
    return stack


def _add_hint(lines: list[str], error: BaseException) -> None:
    """Up to Python 3.11 only the interpreter's own printer says "Did you mean"."""
    error_only = io.StringIO()
    stderr = sys.stderr
    cause, context, hidden = error.__cause__, error.__context__, error.__suppress_context__
    try:
        error.__cause__ = error.__context__ = None
        sys.stderr = error_only
        _print_by_c(type(error), error, error.__traceback__)
    finally:
        sys.stderr = stderr
        error.__cause__, error.__context__ = cause, context
        error.__suppress_context__ = hidden
    text = error_only.getvalue()
    start = text.rfind(_HINT)
    if start < 0 or not lines:
        return
    hint = text[start:].strip()
    for i in range(len(lines) - 1, -1, -1):
        if lines[i] and text[:start].endswith(lines[i]):
            lines[i] += hint
            return


def _bounded(lines: list[str]) -> list[str]:
    if len(lines) > MAX_LINES:
        half = MAX_LINES // 2
        cut = f"  [... {len(lines) - 2 * half} lines left out ...]"
        lines = [*lines[:half], cut, *lines[-half:]]
    return [_line(line) for line in lines]


def _line(line: str) -> str:
    if f'File "{_CUT}", line ' in line:
        number = line.rpartition("line ")[2].partition(",")[0]
        return f"  [... {number} frames left out ...]"
    if len(line) > MAX_LINE:
        return f"{line[:MAX_LINE]}... [{len(line) - MAX_LINE} characters left out]"
    return line


def plain(error: BaseException, name: str, value: str) -> str:
    """The text with no help from the standard library, which user code may have broken."""
    lines: list[str] = []
    tb = _get_traceback(error)
    while tb is not None and len(lines) < MAX_LINES:
        code = tb.tb_frame.f_code
        if not code.co_filename.startswith(OWN_FILES):
            lines.append(f'  File "{code.co_filename}", line {tb.tb_lineno}, in {code.co_name}')
        tb = tb.tb_next
    if lines:
        lines.insert(0, "Traceback (most recent call last):")
    lines.append(f"{name}: {value}" if value else name)
    return "\n".join(lines) + "\n"
