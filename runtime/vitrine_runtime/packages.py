# SPDX-License-Identifier: Apache-2.0
"""%pip, `!pip install` and vitrine_install(): packages for a session that runs already."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

from .channel import encodable
from .sealed import __builtins__  # noqa: F401

if TYPE_CHECKING:
    from .magics import Magics

_INSTALL = re.compile(r"\s*(?:\S*python[\d.]*\s+-m\s+)?pip3?\s+install\b")
_QUIET = {
    "-q",
    "--quiet",
    "-qq",
    "-U",
    "--upgrade",
    "--no-input",
    "--user",
    "--disable-pip-version-check",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


POINT = "/usr/local/lib/vitrine-packages"  # where the server mounts what was installed
MAX_PACKAGES, MAX_PACKAGE = 64, 512  # names, and bytes of one, that a request may have


class PackageError(RuntimeError):
    """Packages could not be installed. `packages` says which, `code` why (docs/packages.md)."""

    __module__ = "builtins"  # printed by its name alone

    def __init__(
        self, packages: list[str], code: str = "", detail: str = "", remedy: str = ""
    ) -> None:
        self.packages = packages
        self.code = code or "invalid_requirement"
        wanted = ", ".join(repr(name) for name in packages)
        why = detail or "only `install`, `list` and `freeze` are known here"
        super().__init__(
            f"not installed: {wanted or 'nothing named'}. {why}. {remedy}".rstrip(". ") + "."
        )


def is_install(command: str) -> bool:
    return _INSTALL.match(command) is not None


def pip(magics: Magics, arguments: str) -> None:
    """`install` of what is there succeeds; `list` and `freeze` tell; the rest is an error."""
    words = arguments.split()
    action = words[0] if words else "list"
    if action in ("list", "freeze"):
        for name, version in sorted(_installed().items()):
            print(f"{name}=={version}")
        return
    if action != "install":
        raise PackageError([])
    wanted = []
    for word in words[1:]:
        word = word.strip("\"'")
        if word in _QUIET:
            continue
        wanted.append(word)
    installed = {_key(name): version for name, version in _installed().items()}
    missing: list[str] = []
    for word in wanted:
        found = _NAME.match(word)
        there = installed.get(_key(found[0])) if found and found[0] == word else None
        if there is None:
            missing.append(word)
        else:
            print(f"Requirement already satisfied: {word} ({there})")
    if missing:
        for pin in install(*missing):
            print(f"Installed {pin}")


def install(*packages: str) -> list[str]:
    """Adds packages to this session, to be imported when it returns. The pins of all it has."""
    from . import worker

    wanted = [str(name) for name in packages]
    if len(wanted) > MAX_PACKAGES or any(len(encodable(w).encode()) > MAX_PACKAGE for w in wanted):
        raise PackageError(wanted[:MAX_PACKAGES], "invalid_requirement",
                           "too many packages, or too long a name", "ask for fewer")  # fmt: skip
    reply = worker.session().stdin.ask_packages(wanted)
    if reply["code"]:
        raise PackageError(wanted, reply["code"], reply["detail"], reply["remedy"])
    importlib.invalidate_caches()
    return list(reply["added"])


async def vitrine_install(*packages: str) -> list[str]:
    """`await vitrine_install("polars==1.*")`: as `%pip install`, for code that is no notebook."""
    return install(*packages)


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _installed() -> dict[str, str]:
    from importlib import metadata

    found: dict[str, str] = {}
    for item in metadata.distributions():
        name = item.metadata["Name"]
        if name:
            found[name] = item.version
    return found


def put_first() -> None:
    """The session's packages come before the image's own versions, for it and its children."""
    import os
    import sys

    if POINT in sys.path:
        sys.path.remove(POINT)
    sys.path.insert(0, POINT)
    os.environ["PYTHONPATH"] = POINT
