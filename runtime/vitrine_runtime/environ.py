# SPDX-License-Identifier: Apache-2.0
"""Environment variables: for the session, and for one execution with the old values put back."""

from __future__ import annotations

import os
import sys
import time

from .sealed import __builtins__  # noqa: F401

_environ = os.environ  # user code may rebind os.environ; putenv must still happen


def use_working_directory_as_home() -> None:
    """Where sessions have no mounts of their own, the working directory says where their home is,
    and their place for temporary files lies beside it."""
    home = os.getcwd()
    if home == _environ.get("HOME"):
        return
    _environ["PATH"] = _environ["PATH"].replace(_environ["HOME"], home)
    _environ["HOME"] = home
    _environ["TMPDIR"] = os.path.join(os.path.dirname(home), "tmp")
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]


def apply(variables: dict[str, str]) -> dict[str, str | None]:
    """Sets `variables`; returns what `restore` needs."""
    before: dict[str, str | None] = {}
    for name, value in variables.items():
        try:
            old = _environ.get(name)
            _environ[name] = value
            before[name] = old
        except (ValueError, OSError, UnicodeError):  # "=" or NUL in a name
            continue
    if "TZ" in before:
        time.tzset()
    return before


def restore(before: dict[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            _environ.pop(name, None)
        else:
            _environ[name] = value
    if "TZ" in before:
        time.tzset()
