# SPDX-License-Identifier: Apache-2.0
"""The programs `pip` and `uv` in a session, and `python -m pip`: what they install is requested of
the session's own process, through the socket that `package_door` serves."""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any

from .package_door import MAX_MESSAGE, NAME
from .pip_actions import NotInstalled, install, lines_of, version_line
from .pip_command import Refused, other, parse
from .sealed import __builtins__  # noqa: F401

UV = "/usr/local/bin/uv"
USAGE = "pip install NAME..., pip install -r FILE, pip list, pip freeze, pip show NAME"


def main(program: str, words: list[str]) -> int:
    if program == "uv":
        if words[:1] != ["pip"]:
            return _real_uv(words)
        words = words[1:]
    try:
        return _run(words)
    except (Refused, NotInstalled) as refused:
        print(f"ERROR: {refused}", file=sys.stderr)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 1


def _run(words: list[str]) -> int:
    if words[:1] in (["--version"], ["-V"]):
        print(version_line())
        return 0
    command = parse(words)
    if command.action in ("help", "--help", "-h"):
        print(USAGE)
    elif command.action == "install":
        install(command, _ask, lambda line: None if command.quiet else print(line, flush=True))
    elif command.action in ("list", "freeze", "show"):
        for line in lines_of(command):
            print(line)
    elif command.action == "check":
        print("No broken requirements found.")
    else:
        raise other(command.action)
    sys.stdout.flush()
    return 0


def _ask(packages: list[str]) -> dict[str, Any]:
    message = json.dumps({"packages": packages}).encode() + b"\n"
    reply = b""
    try:
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(NAME)
            door.sendall(message)
            while not reply.endswith(b"\n"):
                part = door.recv(65536)
                if not part or len(reply) > MAX_MESSAGE:
                    break
                reply += part
        said: dict[str, Any] = json.loads(reply)
    except (OSError, ValueError):
        raise Refused(
            "the session's own process does not answer: run `%pip install` in a cell, or let "
            "Python start this program"
        ) from None
    return said


def _real_uv(words: list[str]) -> int:
    if words[:1] in (["add"], ["sync"], ["tool"], ["venv"]):
        print(
            f"ERROR: uv {words[0]} is not there: use `uv pip install NAME`, which installs for "
            "this session",
            file=sys.stderr,
        )
        return 2
    os.execv(UV, ["uv", *words])
