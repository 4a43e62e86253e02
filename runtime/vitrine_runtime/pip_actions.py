# SPDX-License-Identifier: Apache-2.0
"""`pip install`, `list`, `freeze` and `show` of a session, for `%pip` and for the programs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .pip_command import Command, Refused
from .sealed import __builtins__  # noqa: F401

POINT = "/usr/local/lib/vitrine-packages"  # where the server mounts what was installed

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def key_of(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class Installed:
    """A package that this interpreter finds."""

    __slots__ = ("name", "version", "own", "distribution")

    def __init__(self, distribution: Any) -> None:
        self.distribution = distribution
        self.name = str(distribution.metadata["Name"])
        self.version = str(distribution.version)
        self.own = str(distribution.locate_file("")).startswith(POINT)  # not the image's


def installed() -> dict[str, Installed]:
    """By normalised name; the first on sys.path counts."""
    from importlib import metadata

    found: dict[str, Installed] = {}
    for item in metadata.distributions():
        if item.metadata["Name"]:
            one = Installed(item)
            found.setdefault(key_of(one.name), one)
    return found


def find(name: str) -> Installed | None:
    """One of them, without reading the metadata of all."""
    from importlib import metadata

    for item in metadata.distributions(name=name):
        return Installed(item)
    return None


def satisfies(requirement: str, version: str) -> bool:
    """Whether a package of that version is what was asked for."""
    found = _NAME.match(requirement)
    rest = requirement[found.end() :].strip() if found else requirement
    if not rest:
        return True
    if not found or rest.startswith("["):
        return False  # extras: the server knows what they need
    try:
        from pip._vendor.packaging.specifiers import SpecifierSet

        return bool(SpecifierSet(rest).contains(version, prereleases=True))
    except (ImportError, ValueError):
        return False


Say = Callable[[str], object]
Ask = Callable[[list[str]], dict[str, Any]]  # the server's answer: added, code, detail, remedy
NO_NEWER = ("conflict", "package_not_found", "no_wheel")


class NotInstalled(Exception):
    """The server's answer to a request that it did not fulfil."""

    def __init__(self, packages: list[str], reply: dict[str, Any]) -> None:
        super().__init__(f"{reply['detail']}. {reply['remedy']} ({reply['code']})")
        self.packages, self.reply = packages, reply


def install(command: Command, ask: Ask, say: Say) -> None:
    """`pip install`: asks for what is missing, and for newer versions if they are wanted."""
    missing: list[str] = []
    newer: list[Installed] = []
    for word in command.packages:
        found = _NAME.match(word)
        there = find(found[0]) if found else None
        if there is None:
            missing.append(word)
        elif command.upgrade and there.own and found and found[0] == word:
            newer.append(there)
        elif satisfies(word, there.version):
            say(f"Requirement already satisfied: {word} ({there.version})")
            if command.upgrade and not there.own:
                say(
                    f"{word} {there.version} is part of the image and stays. For another version "
                    f'create a session with packages: ["{word}==..."]'
                )
        else:
            missing.append(word)
    added: list[str] = []
    if missing:
        reply = ask(missing)
        if reply["code"]:
            raise NotInstalled(missing, reply)
        added += reply["added"]
        if not added:
            say(f"Requirement already satisfied: {' '.join(missing)}")
    for one in newer:
        reply = ask([f"{one.name}>{one.version}"])
        if not reply["code"]:
            added += reply["added"]
        elif reply["code"] in NO_NEWER:
            say(f"Requirement already satisfied: {one.name} ({one.version}), no newer version fits")
        else:
            raise NotInstalled([one.name], reply)
    if added:
        names = " ".join(pin.replace("==", "-", 1) for pin in added)
        say(f"Successfully installed {names}")


def lines_of(command: Command) -> Iterator[str]:
    """What `list`, `freeze` and `show` print."""
    if command.action == "show":
        for name in command.packages:
            yield from _show(name, find(name))
        return
    have = installed()
    if command.action == "freeze":
        for _, one in sorted(have.items()):
            yield f"{one.name}=={one.version}"
    elif command.action == "list":
        width = max((len(one.name) for one in have.values()), default=7)
        yield f"{'Package':<{width}} Version"
        yield f"{'-' * width} -------"
        for _, one in sorted(have.items()):
            yield f"{one.name:<{width}} {one.version}"


def _show(name: str, one: Installed | None) -> Iterator[str]:
    if one is None:
        raise Refused(f"Package(s) not found: {name}: install it with %pip install {name}")
    about = one.distribution.metadata
    yield f"Name: {one.name}"
    yield f"Version: {one.version}"
    for field in ("Summary", "Home-page", "Author", "License"):
        yield f"{field}: {about.get(field) or ''}"
    yield f"Location: {one.distribution.locate_file('')}"
    needs = (re.split(r"[^A-Za-z0-9._-]", item)[0] for item in one.distribution.requires or ())
    yield f"Requires: {', '.join(sorted(set(needs)))}"


def version_line() -> str:
    return f"pip of the session: it installs through the server (python {sys.version.split()[0]})"
