# SPDX-License-Identifier: Apache-2.0
"""%pip, `!pip install` and vitrine_install(): packages for a session that runs already."""

from __future__ import annotations

import importlib
import re
import shlex
from typing import TYPE_CHECKING, Any

from .channel import encodable
from .package_door import MAX_PACKAGE, MAX_PACKAGES
from .pip_actions import POINT, NotInstalled, lines_of
from .pip_actions import install as pip_install
from .pip_command import Refused, other, parse
from .sealed import __builtins__  # noqa: F401

if TYPE_CHECKING:
    from .magics import Magics

# A line for the shell that only installs: it is done here, and its failure is an exception. Every
# other one is the shell's, where `pip` is a program.
_INSTALL = re.compile(
    r"\s*(?:\S*python[\d.]*\s+-m\s+pip|(?:uv\s+)?pip3?|conda)\s+(install\b.*)$", re.DOTALL
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_VERSION = re.compile(r"(?<=[\w\],])[<>](?:=|(?=\d))")  # x>=2 is meant as no redirection
_SHELL = re.compile(r"[|&;<>()$`*?\n\\]")


class PackageError(RuntimeError):
    """Packages could not be installed. `packages` says which, `code` why (docs/packages.md)."""

    __module__ = "builtins"  # printed by its name alone

    def __init__(
        self, packages: list[str], code: str = "", detail: str = "", remedy: str = ""
    ) -> None:
        self.packages = packages
        self.code = code or "invalid_requirement"
        wanted = ", ".join(repr(name) for name in packages)
        why = f"{detail}. {remedy}".rstrip(". ")
        super().__init__(f"not installed: {wanted}. {why}." if wanted else f"{why}.")


def install_words(command: str) -> str | None:
    """What follows `pip` in a shell command that installs and does nothing else."""
    found = _INSTALL.match(command)
    if found is None or _is_for_shell(found[1]):
        return None
    return found[1]


def _is_for_shell(arguments: str) -> bool:
    return _SHELL.search(_VERSION.sub("", _QUOTED.sub("", arguments))) is not None


def pip(magics: Magics, arguments: str) -> None:
    """`install`, `list`, `freeze` and `show` as pip has them; the rest says what to do."""
    if re.search(r"\s\d?>>?(?!=)|[|;]|&&", _QUOTED.sub("", arguments)):
        return magics.shell_script(f"pip {arguments}", "/bin/sh")
    try:
        words = shlex.split(arguments, comments=True)
    except ValueError:  # a quote without its end
        words = arguments.split()
    if words[:1] == ["pip"]:  # %uv pip install
        words = words[1:]
    try:
        command = parse(words or ["list"])
        if command.action == "install":
            pip_install(command, _ask, lambda line: None if command.quiet else print(line))
        elif command.action in ("list", "freeze", "show"):
            for line in lines_of(command):
                print(line)
        else:
            raise other(command.action)
    except Refused as refused:
        raise PackageError([], "invalid_requirement", str(refused)) from None
    except NotInstalled as failed:
        raise _error(failed.packages, failed.reply) from None


def install(*packages: str) -> list[str]:
    """Adds packages to this session, to be imported when it returns. The pins that are new."""
    wanted = [str(name) for name in packages]
    reply = _ask(wanted)
    if reply["code"]:
        raise _error(wanted, reply)
    return list(reply["added"])


def _error(packages: list[str], reply: dict[str, Any]) -> PackageError:
    return PackageError(packages, reply["code"], reply["detail"], reply["remedy"])


def _ask(wanted: list[str]) -> dict[str, Any]:
    from . import worker

    if len(wanted) > MAX_PACKAGES or any(len(encodable(w).encode()) > MAX_PACKAGE for w in wanted):
        raise PackageError(wanted[:MAX_PACKAGES], "invalid_requirement",
                           "too many packages, or too long a name", "ask for fewer")  # fmt: skip
    reply = worker.session().stdin.ask_packages(wanted)
    if not reply["code"]:
        importlib.invalidate_caches()
    return reply


async def vitrine_install(*packages: str) -> list[str]:
    """`await vitrine_install("polars==1.*")`: as `%pip install`, for code that is no notebook."""
    return install(*packages)


def put_first() -> None:
    """The session's packages come before the image's own versions, for it and its children."""
    import os
    import sys

    if POINT in sys.path:
        sys.path.remove(POINT)
    sys.path.insert(0, POINT)
    os.environ["PYTHONPATH"] = POINT
