# SPDX-License-Identifier: Apache-2.0
"""Which packages: the list, and everything it needs. Pure; apt is asked elsewhere."""

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from .progress import BuildError


@dataclass(frozen=True)
class Wish:
    """One line of packages.txt: the first name that the release has."""

    names: tuple[str, ...]
    optional: bool = False


@dataclass
class PackageList:
    wishes: list[Wish] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)  # patterns

    def excludes(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.excluded)


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    architecture: str
    sha256: str
    size: int
    depends: tuple[tuple[str, ...], ...] = ()  # all of (any of)
    provides: tuple[str, ...] = ()

    @property
    def deb(self) -> str:
        """The file name that `apt-get download` gives it."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


def parse_list(text: str) -> PackageList:
    parsed = PackageList()
    for raw in text.splitlines():
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("-"):
            parsed.excluded.append(line[1:].strip())
            continue
        names = tuple(name.strip() for name in line.lstrip("?").split("|"))
        parsed.wishes.append(Wish(names, optional=line.startswith("?")))
    return parsed


def choose(wishes: list[Wish], available: set[str]) -> list[str]:
    chosen = []
    for wish in wishes:
        found = next((name for name in wish.names if name in available), None)
        if found:
            chosen.append(found)
        elif not wish.optional:
            raise BuildError(
                f"package {' or '.join(wish.names)} is not in this release's lists",
                "run image/build --force; if it is still missing, correct image/packages.txt",
            )
    return chosen


def _relation_names(field_text: str) -> tuple[str, ...]:
    alternatives = (part.strip() for part in field_text.split("|"))
    return tuple(re.split(r"[\s(:\[]", part, maxsplit=1)[0] for part in alternatives if part)


def parse_package(stanza: str) -> Package:
    """One stanza of `apt-cache show`."""
    fields: dict[str, str] = {}
    key = ""
    for line in stanza.splitlines():
        if line[:1] in (" ", "\t"):
            fields[key] += " " + line.strip()
        else:
            key, _, value = line.partition(":")
            fields[key] = value.strip()
    relations = [fields.get("Pre-Depends", ""), fields.get("Depends", "")]
    clauses = [clause for text in relations for clause in text.split(",") if clause.strip()]
    provides = (clause for clause in fields.get("Provides", "").split(",") if clause.strip())
    return Package(
        name=fields["Package"],
        version=fields["Version"],
        architecture=fields["Architecture"],
        sha256=fields.get("SHA256", ""),
        size=int(fields.get("Size", "0")),
        depends=tuple(_relation_names(clause) for clause in clauses),
        provides=tuple(_relation_names(clause)[0] for clause in provides),
    )


def reachable(roots: list[str], packages: dict[str, Package], listed: PackageList) -> list[Package]:
    """The packages that `roots` need, never passing through an excluded one.

    `packages` is apt's own solution, so every dependency has an answer in it. A clause that holds
    only excluded packages is dropped; any other clause without an answer is an error.
    """
    providers: dict[str, list[str]] = {}
    for package in packages.values():
        for name in (package.name, *package.provides):
            providers.setdefault(name, []).append(package.name)

    kept: dict[str, Package] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in kept or listed.excludes(name):
            continue
        package = kept[name] = packages[name]
        for clause in package.depends:
            answers = [answer for wanted in clause for answer in providers.get(wanted, [])]
            if not answers and not all(listed.excludes(wanted) for wanted in clause):
                raise BuildError(
                    f"package {name} needs {' or '.join(clause)}, which apt did not choose",
                    "run image/build --force, which fetches the lists again",
                )
            waiting.extend(answers)
    return sorted(kept.values(), key=lambda package: package.name)
