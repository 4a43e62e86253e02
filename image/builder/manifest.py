# SPDX-License-Identifier: Apache-2.0
"""How one tells that an image is there, whole, and made from this source."""

import json
import os
import stat
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from .recipe import recipe_hash
from .release import Target

FORMAT = 1
FIELDS = {
    "format": int, "recipe": str, "release": str, "architecture": str, "python": str,
    "built_at": str, "packages": dict, "wheels": dict, "size_bytes": int, "files": int,
}  # fmt: skip

KEY_FILES = (
    "usr/bin/python3", "bin/sh", "bin/bash", "usr/bin/Xvfb", "usr/bin/fc-list", "etc/passwd",
    "etc/ld.so.cache", "etc/ssl/certs/ca-certificates.crt", "dev/null", "dev/shm", "dev/pts",
    "proc", "tmp", "home/sandbox", "run", "usr/lib/vitrine",
)  # fmt: skip

SERVER_DIR = "usr/lib/vitrine"  # the server's, so not counted


class State(IntEnum):
    """Also the exit code of `image/build --check`."""

    OK = 0
    MISSING = 3
    DAMAGED = 4
    OUTDATED = 5


@dataclass(frozen=True)
class Verdict:
    state: State
    reason: str = ""


@dataclass
class Census:
    files: int = 0
    size_bytes: int = 0
    unsafe: str = ""  # the first path that must not be in an image


def census(root: Path) -> Census:
    """Counts regular files and links; hard links count once in size."""
    found = Census()
    seen: set[int] = set()
    server = str(root / SERVER_DIR)
    pending = [str(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    if status.st_mode & 0o7022:
                        found.unsafe = entry.path
                    if entry.path != server:
                        pending.append(entry.path)
                    continue
                found.files += 1
                if stat.S_ISREG(status.st_mode):
                    if status.st_mode & 0o7022:
                        found.unsafe = entry.path
                    if status.st_nlink == 1 or status.st_ino not in seen:
                        found.size_bytes += status.st_size
                    seen.add(status.st_ino)
                elif not stat.S_ISLNK(status.st_mode):
                    found.unsafe = entry.path
    return found


def check(image: Path, image_dir: Path, target: Target) -> Verdict:
    manifest_path = image / "manifest.json"
    root = image / "root"
    if not manifest_path.exists() and not root.exists():
        return Verdict(State.MISSING, f"no image at {image}")
    try:
        manifest = json.loads(manifest_path.read_text())
    except FileNotFoundError:
        return Verdict(State.DAMAGED, "manifest.json is missing")
    except (OSError, ValueError) as error:
        return Verdict(State.DAMAGED, f"manifest.json cannot be read: {error}")
    if not isinstance(manifest, dict):
        return Verdict(State.DAMAGED, "manifest.json is not an object")
    for field, kind in FIELDS.items():
        if not isinstance(manifest.get(field), kind):
            return Verdict(
                State.DAMAGED, f"manifest.json: {field} is missing or not {kind.__name__}"
            )
    if manifest["format"] != FORMAT:
        return Verdict(State.OUTDATED, f"format {manifest['format']}, this source makes {FORMAT}")
    for name in KEY_FILES:
        if not os.path.lexists(root / name):
            return Verdict(State.DAMAGED, f"/{name} is missing")
    found = census(root)
    if found.unsafe:
        return Verdict(
            State.DAMAGED, f"{found.unsafe} is setuid, writable by others or a special file"
        )
    for field in ("files", "size_bytes"):
        if getattr(found, field) != manifest[field]:
            return Verdict(
                State.DAMAGED,
                f"{field} is {getattr(found, field)}, was {manifest[field]} when built",
            )
    for field in ("release", "architecture"):
        if manifest[field] != (wanted := getattr(target, field)):
            return Verdict(
                State.OUTDATED, f"made for {field} {manifest[field]}, wanted is {wanted}"
            )
    if manifest["recipe"] != (recipe := recipe_hash(image_dir, target)):
        return Verdict(
            State.OUTDATED,
            f"older than this source: recipe {manifest['recipe'][:12]}, source has {recipe[:12]}",
        )
    return Verdict(State.OK)
