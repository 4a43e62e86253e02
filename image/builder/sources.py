# SPDX-License-Identifier: Apache-2.0
"""Where a release's packages come from: the host's own Debian mirror, with other suites.

A host that is no Debian (or has no usual sources) has to name one: --mirror, --keyring.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .progress import BuildError

OS_RELEASE = Path("/etc/os-release")
APT = Path("/etc/apt")
KEYRINGS = tuple(
    Path(f"/usr/share/keyrings/debian-archive-keyring.{kind}") for kind in ("pgp", "gpg")
)
MIRROR_VARIABLE = "VITRINE_IMAGE_MIRROR"
KEYRING_VARIABLE = "VITRINE_IMAGE_KEYRING"


@dataclass(frozen=True)
class Entry:
    """One source of apt."""

    uri: str
    suites: tuple[str, ...]


@dataclass(frozen=True)
class Mirror:
    main: str
    security: str  # "" = the host uses none


def parse_list(text: str) -> list[Entry]:
    """A file in the one-line format."""
    entries = []
    for line in text.splitlines():
        found = re.match(r"\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)", line)
        if found:
            entries.append(Entry(found[1], (found[2],)))
    return entries


def parse_deb822(text: str) -> list[Entry]:
    """A file of stanzas."""
    entries = []
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n[ \t]*\n", "\n".join(lines)):
        fields: dict[str, str] = {}
        key = ""
        for line in stanza.splitlines():
            if line[:1] in (" ", "\t") and key:
                fields[key] += " " + line.strip()
            else:
                key, _, value = line.partition(":")
                key = key.strip().lower()
                fields[key] = value.strip()
        if "deb" not in fields.get("types", "").split() or fields.get("enabled") == "no":
            continue
        suites = tuple(fields.get("suites", "").split())
        entries += [Entry(uri, suites) for uri in fields.get("uris", "").split()]
    return entries


def of_host(apt: Path = APT) -> list[Entry]:
    entries = []
    for path in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]:
        parse = {".list": parse_list, ".sources": parse_deb822}.get(path.suffix)
        if parse and path.is_file():
            entries += parse(path.read_text(errors="replace"))
    return entries


def code_name(os_release: str) -> str:
    """The host's suite if it is a Debian, otherwise ""."""
    fields = dict(re.findall(r"^(\w+)=[\"']?([^\"'\n]*)", os_release, flags=re.MULTILINE))
    return fields.get("VERSION_CODENAME", "") if fields.get("ID") == "debian" else ""


def choose(entries: Iterable[Entry], suite: str) -> Mirror | None:
    """The sources of the host's own suite; those of other vendors have other suites."""
    main = security = ""
    for entry in entries:
        suites = [one.strip("/") for one in entry.suites]
        if suite in suites:
            main = main or entry.uri
        if f"{suite}-security" in suites or f"{suite}/updates" in suites:
            security = security or entry.uri
    return Mirror(main, security) if main else None


def find_mirror(named: str = "") -> Mirror:
    """`named` holds the release; its security updates are beside it, in NAME-security."""
    named = (named or os.environ.get(MIRROR_VARIABLE, "")).rstrip("/")
    if named:
        if not re.match(r"(https?|file)://?[^\s\[\]]+$", named):
            raise BuildError(f"{named!r} is no address of a mirror", "use http://HOST/debian")
        return Mirror(named, f"{named}-security")
    suite = code_name(OS_RELEASE.read_text()) if OS_RELEASE.exists() else ""
    found = choose(of_host(), suite) if suite else None
    if not found:
        raise BuildError(
            "this host's package sources name no Debian mirror",
            f"name one: --mirror http://HOST/debian, or {MIRROR_VARIABLE}",
        )
    return found


def find_keyring(named: str = "") -> Path:
    named = named or os.environ.get(KEYRING_VARIABLE, "")
    for path in [Path(named).resolve()] if named else KEYRINGS:
        if path.is_file():
            return path
    raise BuildError(
        f"there is no keyring {named}" if named else "the keys of Debian's releases are missing",
        "install the package debian-archive-keyring, or name a file with --keyring",
    )


def write(mirror: Mirror, keyring: Path, release: str) -> str:
    """The text of a sources.list."""
    options = f"[signed-by={keyring} target=Packages lang=none]"
    lines = [
        f"deb {options} {mirror.main} {suite} main" for suite in (release, f"{release}-updates")
    ]
    if mirror.security:
        lines.append(f"deb {options} {mirror.security} {release}-security main")
    return "".join(f"{line}\n" for line in lines)
