# SPDX-License-Identifier: Apache-2.0
"""Exceptions as data: name, value, traceback, and what a model could do about it.

Runs user code (`__str__` of exceptions), so it is called where an interrupt may strike.
"""

from __future__ import annotations

import sys

from .sealed import __builtins__  # noqa: F401
from .sources import Sources
from .tracebacks import format_error, plain, strip

Error = tuple[str, str, str]  # name, value, traceback

MAX_VALUE = 10_000

# Caught where user code is asked for text. A KeyboardInterrupt is not among them.
FAILURES = (Exception, SystemExit, GeneratorExit)


def describe(error: BaseException, sources: Sources) -> Error:
    """Name, value and traceback of `error`. Raises nothing but a KeyboardInterrupt."""
    name = name_of(error)
    value = value_of(error)
    try:
        sources.refresh()
        strip(error)
        text = format_error(error)
    except FAILURES:
        text = plain(error, name, value)
    return name, value, text


def describe_refusal(refusal: BaseException, sources: Sources) -> Error:
    """The same for what a language policy refused; before it ran, there is no traceback."""
    name, value, text = describe(refusal, sources)
    if not text.startswith("Traceback"):
        text = sources.quote(getattr(refusal, "line", 0)) + text
    return name, value, text


def name_of(error: BaseException) -> str:
    try:
        name = type.__dict__["__name__"].__get__(type(error))
        return name if type(name) is str else "Exception"
    except Exception:
        return "Exception"


def value_of(error: BaseException) -> str:
    try:
        value = str(error)
        if type(value) is not str:
            value = str.__str__(value)
    except FAILURES:
        return "<exception str() failed>"
    if len(value) > MAX_VALUE:
        half = MAX_VALUE // 2
        cut = f" [... {len(value) - 2 * half} characters left out ...] "
        return value[:half] + cut + value[-half:]
    return value


def remedy(error: BaseException) -> str | None:
    """A hint for exceptions whose cause lies in how the session was made. Only types are asked:
    isinstance() would run code of hostile exceptions."""
    if issubclass(type(error), MemoryError):
        return (
            "the session's memory limit was reached: free what is no longer needed (del, smaller "
            "chunks), or create a session with a larger limits.memory_mb"
        )
    if issubclass(type(error), ModuleNotFoundError):
        name = getattr(error, "name", None)
        if type(name) is str and name.isidentifier():
            return (
                f"module {name!r} is not installed here: `%pip install` the package that has it, "
                "or create the session with it in `imports`; `%pip list` shows what there is"
            )
    if issubclass(type(error), RuntimeError) and "running event loop" in value_of(error):
        return (
            "a cell with await (or create_task) at its top level runs inside an event loop: write "
            "`await main()` there, or asyncio.run(main()) in a cell without top-level await"
        )
    return None


def exit_status(error: BaseException) -> tuple[int, object]:
    """The exit code of a SystemExit, and what Python would print on stderr (or None)."""
    code = getattr(error, "code", None)
    if code is None:
        return 0, None
    if isinstance(code, int):
        status = int(code)
        return (status & 0xFF) or (1 if status else 0), None
    return 1, code


def print_last_words(message: object) -> None:
    """The text of sys.exit("text"), where Python prints it."""
    try:
        sys.stderr.write(f"{message}\n")
    except FAILURES:
        pass
