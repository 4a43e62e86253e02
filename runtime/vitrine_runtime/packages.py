# SPDX-License-Identifier: Apache-2.0
"""%pip and `!pip install`: packages belong to a session from its creation on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .sealed import __builtins__  # noqa: F401

if TYPE_CHECKING:
    from .magics import Magics

_INSTALL = re.compile(r"\s*(?:\S*python[\d.]*\s+-m\s+)?pip3?\s+install\b")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class PackageError(RuntimeError):
    """A package cannot be installed into a running session. `packages` says which."""

    __module__ = "builtins"  # printed by its name alone

    def __init__(self, packages: list[str]) -> None:
        self.packages = packages
        wanted = ", ".join(repr(name) for name in packages)
        super().__init__(
            f"not installed: {wanted or 'nothing named'}. This version installs no packages: do "
            "without, or with what `%pip list` shows"
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
    installed = {_key(name): version for name, version in _installed().items()}
    missing: list[str] = []
    for word in words[1:]:
        word = word.strip("\"'")
        found = None if word.startswith("-") else _NAME.match(word)
        if found is None:
            continue
        there = installed.get(_key(found[0]))
        if there is None:
            missing.append(word)
        else:
            print(f"Requirement already satisfied: {word} ({there})")
    if missing:
        raise PackageError(missing)


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
