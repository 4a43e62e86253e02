# SPDX-License-Identifier: Apache-2.0
"""The Debian releases an image can be made of. The host's own release plays no part."""

import os
import re
import subprocess
from dataclasses import dataclass

from .progress import BuildError


@dataclass(frozen=True)
class Release:
    name: str  # the suite: "bookworm"
    python: str  # its python3: "3.11"


RELEASES = (Release("trixie", "3.13"), Release("bookworm", "3.11"))
DEFAULT = "trixie"
VARIABLE = "VITRINE_IMAGE_RELEASE"  # for what calls image/build without arguments: ./dev test


@dataclass(frozen=True)
class Target:
    """What an image is made for."""

    release: str
    architecture: str  # as dpkg names it: "amd64"


def find(name: str) -> Release:
    """By its name, or by the version of its Python. "" is the default."""
    wanted = name or os.environ.get(VARIABLE) or DEFAULT
    known = {key: one for one in RELEASES for key in (one.name, one.python)}
    if wanted not in known:
        kind = "Python" if re.fullmatch(r"\d+(\.\d+)*", wanted) else "release"
        offered = " or ".join(f"{one.name} (Python {one.python})" for one in RELEASES)
        raise BuildError(f"no image can be made with {kind} {wanted}", f"use {offered}")
    return known[wanted]


def target(release: Release) -> Target:
    try:
        architecture = subprocess.run(
            ["dpkg", "--print-architecture"], check=True, capture_output=True, text=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(
            f"this host is not a Debian or Ubuntu: {error}",
            "build the image on one, or copy a built one and name it with --image",
        ) from error
    return Target(release.name, architecture)
