# SPDX-License-Identifier: Apache-2.0
"""What a command line of pip or `uv pip` asks for, for `%pip` and for the programs pip and uv.

Options that change nothing here are accepted. One that would is refused with what to do instead.
"""

from __future__ import annotations

import os
import re

from .sealed import __builtins__  # noqa: F401

PLAIN = {
    "-q", "-qq", "-qqq", "--quiet", "-v", "-vv", "-vvv", "--verbose", "-y", "--yes", "--no-input",
    "--user", "--disable-pip-version-check", "--no-cache-dir", "--no-cache", "-n", "--no-color",
    "--no-warn-script-location", "--no-warn-conflicts", "--break-system-packages", "--system",
    "--prefer-binary", "--no-python-version-warning", "--no-build-isolation", "--no-progress",
    "--no-deps", "--force-reinstall", "--reinstall", "-I", "--ignore-installed", "--no-compile",
    "--compile", "--use-pep517", "--isolated", "--require-virtualenv", "--offline",
}  # fmt: skip
WITH_VALUE = {
    "--progress-bar", "--timeout", "--default-timeout", "--retries", "--cache-dir",
    "--root-user-action", "--trusted-host", "--only-binary", "--no-binary", "--upgrade-strategy",
    "-p", "--python", "--log", "--cert", "--exists-action", "--resolution",
}  # fmt: skip
UPGRADE = {"-U", "--upgrade", "--upgrade-package", "-P"}
OPERATORS = {
    "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--no-index", "--index",
    "--default-index", "--proxy",
}  # fmt: skip
ELSEWHERE = {"-t", "--target", "--prefix", "--root", "-e", "--editable"}
QUIET = {"-q", "-qq", "-qqq", "--quiet"}
OTHERS = {
    "uninstall": "a session's packages stay; create a session without it",
    "download": "use `pip install`: it is downloaded and unpacked by the server",
    "wheel": "use `pip install`: wheels are unpacked by the server",
    "search": "`pip index versions` and `pip search` need the index, which a session cannot reach",
    "index": "`pip install NAME==VERSION` says which versions exist if there is no such one",
}


class Refused(Exception):
    """A command line that nobody can carry out; `str()` says why and what to do."""


class Command:
    __slots__ = ("action", "packages", "upgrade", "quiet")

    def __init__(self, action: str) -> None:
        self.action = action
        self.packages: list[str] = []
        self.upgrade = False
        self.quiet = False


def parse(words: list[str]) -> Command:
    """`words` is what comes after `pip`."""
    words = list(words)
    while words and words[0] in PLAIN:
        words.pop(0)
    command = Command(words.pop(0) if words else "help")
    if command.action == "install":
        _parse_install(command, words)
    else:
        command.packages = [word for word in words if not word.startswith("-")]
    return command


def _parse_install(command: Command, words: list[str]) -> None:
    while words:
        word = words.pop(0)
        option, equals, value = word.partition("=")
        if not word.startswith("-"):
            command.packages.append(word)
        elif word in PLAIN:
            command.quiet = command.quiet or word in QUIET
        elif option in UPGRADE:
            command.upgrade = True
            if option in ("-P", "--upgrade-package"):
                command.packages.append(value or _value(option, words))
        elif option in WITH_VALUE:
            if not equals:
                _value(option, words)
        elif option in ("-r", "--requirement", "--requirements"):
            command.packages += read_file(value or _value(option, words))
        elif word.startswith("-r"):
            command.packages += read_file(word[2:])
        elif option in ("-c", "--constraint", "--constraints"):
            if os.path.exists(value or _value(option, words)):  # and not a channel of conda
                raise Refused(f"{option} is not understood here: write the versions into the names")
        elif option in OPERATORS:
            raise Refused(
                f"{option} is an option of the operator: packages come from the index that this "
                "server uses; leave it out"
            )
        elif option in ELSEWHERE:
            raise Refused(
                f"{option} is an option that means nothing here: packages are installed for this "
                "session and can be imported at once; leave it out"
            )
        elif option == "--pre":
            raise Refused("--pre is not understood here: name the version, as in x==2.0rc1")
        else:
            raise Refused(f"{option} is an option that is not known here; leave it out")
    if not command.packages:
        raise Refused("nothing is named to be installed: pip install NAME")


def _value(option: str, words: list[str]) -> str:
    if not words:
        raise Refused(f"{option} has no value")
    return words.pop(0)


def read_file(path: str, depth: int = 0) -> list[str]:
    """The requirements of a requirements file."""
    if depth > 8:
        raise Refused(f"{path}: requirements files include each other")
    try:
        with open(os.path.expanduser(path), encoding="utf-8-sig") as file:
            text = file.read(1 << 20)
    except (OSError, ValueError) as error:
        raise Refused(f"the requirements file cannot be read: {error}") from None
    found: list[str] = []
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        line = re.sub(r"\s--hash[= ]\S+", "", line).strip()
        option, _, value = line.partition(" ")
        if not line:
            continue
        if option in ("-r", "--requirement"):
            beside = os.path.join(os.path.dirname(path), value.strip())
            found += read_file(beside, depth + 1)
        elif line.startswith("-"):
            name = re.split(r"[ =]", line)[0]
            raise Refused(
                f"{path} has {name}, which is an option of the operator: remove that line"
            )
        else:
            found += _without_marker(line)
    return found


def _without_marker(line: str) -> list[str]:
    """A requirement; nothing if its marker does not hold here."""
    if ";" not in line:
        return [line]
    name, _, marker = line.partition(";")
    try:
        from pip._vendor.packaging.markers import Marker

        return [name.strip()] if Marker(marker.strip()).evaluate() else []
    except (ImportError, ValueError):
        return [name.strip()]


def other(action: str) -> Refused:
    """Why there is no such command."""
    if action in OTHERS:
        return Refused(f"pip {action} is not there: {OTHERS[action]}")
    return Refused(
        f"pip {action} is not there: only install, list, freeze, show and check are known here"
    )
