# SPDX-License-Identifier: Apache-2.0
"""What determines an image, as one hash: lists, lock, build code, release, architecture.

Package versions are not part of it: a new security update does not make an image outdated by
itself. `image/build --force` takes the release's current versions.
"""

import hashlib
from pathlib import Path

from .release import Target


def recipe_files(image_dir: Path) -> list[Path]:
    lists = [image_dir / name for name in ("build", "packages.txt", "wheels.lock")]
    return sorted([*lists, *(image_dir / "builder").glob("*.py")])


def recipe_hash(image_dir: Path, target: Target) -> str:
    digest = hashlib.sha256()
    for part in (target.release, target.architecture):
        digest.update(part.encode() + b"\0")
    for path in recipe_files(image_dir):
        digest.update(str(path.relative_to(image_dir)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
