# SPDX-License-Identifier: Apache-2.0
"""Builtins a session adds or replaces: input, exit, breakpoint, format_exc, safe_json_dumps."""

from __future__ import annotations

import builtins
import getpass
import json
import os
import sys
from typing import NoReturn

from .display import Display
from .errors import FAILURES
from .imports import ImportHooks
from .package_door import PackageDoor
from .packages import vitrine_install
from .pretty import safe_repr
from .sealed import __builtins__ as _sealed
from .stdin import Stdin
from .tracebacks import format_error, strip

__builtins__ = _sealed


class Exit:
    """exit() and quit(): the same as sys.exit(), and sys.stdin stays open."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"Use {self._name}() to end this execution; the session lives on"

    def __call__(self, code: object = None) -> NoReturn:
        raise SystemExit(code)


def format_exc() -> str:
    """The traceback of the exception being handled, as text ("" if there is none)."""
    error = sys.exc_info()[1]
    if error is None:
        return ""
    strip(error)
    return format_error(error)


def safe_json_dumps(obj: object, **options: object) -> str:
    """json.dumps() that never fails: what JSON cannot hold becomes its repr()."""
    options.setdefault("default", safe_repr)
    try:
        return json.dumps(obj, **options)  # type: ignore[arg-type]
    except FAILURES:
        pass
    try:
        return json.dumps(_plain(obj, set(), 0))
    except FAILURES:
        return json.dumps(safe_repr(obj))


def _plain(obj: object, around: set[int], depth: int) -> object:
    """`obj` with every key a string and every cycle cut."""
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return obj
    if not isinstance(obj, (dict, list, tuple)) or id(obj) in around or depth > 100:
        return safe_repr(obj)
    around.add(id(obj))
    try:
        if isinstance(obj, dict):
            return {
                key if isinstance(key, str) else safe_repr(key): _plain(item, around, depth + 1)
                for key, item in obj.items()
            }
        return [_plain(item, around, depth + 1) for item in obj]
    finally:
        around.discard(id(obj))


def install(stdin: Stdin, display: Display, imports: ImportHooks) -> None:
    """Puts all of them in place. Called once, in the zygote."""
    PackageDoor(stdin).install(imports)

    def input(prompt: object = "", /) -> str:
        """Reads one line: from the given stdin, or by asking the client."""
        return stdin.read_line(str(prompt))

    def ask_password(prompt: str = "Password: ", stream: object = None, **options: object) -> str:
        """Like input(); an interactive client hides what is typed."""
        return stdin.read_line(str(prompt), password=True)

    def breakpoint_hook(*arguments: object, **options: object) -> object:
        if os.environ.get("PYTHONBREAKPOINT"):
            return sys.__breakpointhook__(*arguments, **options)
        if stdin.silent():
            raise RuntimeError(
                "breakpoint() needs someone to type commands: print the values instead, "
                "pass the debugger's commands as stdin, or run interactively"
            )
        import pdb

        pdb.Pdb(nosigint=True).set_trace(sys._getframe(1))
        return None

    for function in (input, format_exc, safe_json_dumps, vitrine_install):
        function.__qualname__ = function.__name__
        function.__module__ = "builtins"
        setattr(builtins, function.__name__, function)
    builtins.display = display  # type: ignore[attr-defined]
    builtins.clear_output = display.clear_output  # type: ignore[attr-defined]
    builtins.exit = Exit("exit")  # type: ignore[assignment]
    builtins.quit = Exit("quit")  # type: ignore[assignment]
    getpass.getpass = ask_password  # type: ignore[assignment]
    sys.breakpointhook = breakpoint_hook
    _add_help()


def _add_help() -> None:
    """help() comes from `site`, which an embedding program may not have run."""
    if not hasattr(builtins, "help"):
        import _sitebuiltins

        builtins.help = _sitebuiltins._Helper()
