# SPDX-License-Identifier: Apache-2.0
"""Shell commands of cells: output streamed to fds 1 and 2, all of it killed on interrupt."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import Any

from .sealed import __builtins__  # noqa: F401

SHELL = "/bin/sh"
GRACE = 0.5  # seconds between the interrupt of a command and its end by force

_BRACES = re.compile(r"(?<![{$])\{([^{}]+)\}(?!\})")
_DOLLAR = re.compile(r"(\$?)\$([A-Za-z_]\w*)")


def expand(command: str, names: dict[str, Any]) -> str:
    """Python values in a command: `{expression}` and `$name`, where they evaluate. `$$name` is
    left to the shell as `$name`."""

    def in_braces(found: re.Match[str]) -> str:
        try:
            return str(eval(found[1], names))
        except Exception:
            return found[0]  # awk '{print $1}', find -exec {} and the like

    def after_dollar(found: re.Match[str]) -> str:
        if found[1]:
            return f"${found[2]}"
        return str(names[found[2]]) if found[2] in names else found[0]

    return _DOLLAR.sub(after_dollar, _BRACES.sub(in_braces, command))


def run(command: str, program: str = SHELL) -> int:
    """Runs `command`; returns its exit code, as shells report it (128 + signal)."""
    process = subprocess.Popen([program, "-c", command], start_new_session=True)
    try:
        status = process.wait()
    except BaseException:
        _kill(process)
        raise
    return status if status >= 0 else 128 - status


def capture(command: str) -> tuple[list[str], int]:
    """Runs `command`; returns the lines it printed and its exit code."""
    process = subprocess.Popen(
        [SHELL, "-c", command], start_new_session=True, stdout=subprocess.PIPE
    )
    try:
        out, _ = process.communicate()
    except BaseException:
        _kill(process)
        raise
    status = process.returncode
    return out.decode("utf-8", "replace").splitlines(), status if status >= 0 else 128 - status


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends the command and all it started in its process group."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except OSError:
            pass
        try:
            process.wait(GRACE)
            if number == signal.SIGINT:
                os.killpg(process.pid, signal.SIGKILL)  # children that outlived their shell
            return
        except (subprocess.TimeoutExpired, OSError):
            continue
