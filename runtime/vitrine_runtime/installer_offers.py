# SPDX-License-Identifier: Apache-2.0
"""What the image and the session have, offered to uv as wheels: it looks no further for them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .sealed import __builtins__  # noqa: F401

POINT = "/usr/local/lib/vitrine-packages"


def key_of(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def packages_here(environment: bool) -> dict[str, tuple[str, Any]]:
    """Versions and distributions by name: of the image and, with `environment`, of what is at the
    layers' place, which is the operator's here. Names are those of directories where they can be:
    to parse the metadata of all packages takes longer than uv does."""
    from importlib import metadata

    found: dict[str, tuple[str, Any]] = {}
    for item in metadata.distributions():
        path = getattr(item, "_path", None)
        if not environment and POINT in str(item.locate_file("")):
            continue
        stem = path.name.removesuffix(".dist-info") if path is not None else ""
        name, dash, version = stem.rpartition("-")
        if not dash or not path.name.endswith(".dist-info"):
            name, version = item.metadata["Name"], item.version
        if name:
            found.setdefault(key_of(name), (version, item))
    return found


def offer_image(offers: Path, whole: int, environment: bool) -> None:
    """What the image has, as wheels that hold nothing but what they tell: uv looks no further,
    also where there is no index. Up to `whole` bytes they hold their files too: a build may need
    them, and its environment gets what is offered here."""
    offers.mkdir()
    for name, (version, item) in packages_here(environment).items():
        about = item.read_text("METADATA")
        if about:
            files = _files_of(item, whole) if whole else {}
            if files and (entries := item.read_text("entry_points.txt")):
                _wheel(offers, name, version, about, files, entries)
            else:
                _wheel(offers, name, version, about, files)


def _files_of(item: Any, most: int) -> dict[str, str]:
    """Paths by name in the wheel; none if they are larger than `most` bytes."""
    files = {str(file): str(item.locate_file(file)) for file in item.files or ()}
    files = {file: path for file, path in files.items() if _belongs(file, path)}
    return files if sum(os.path.getsize(path) for path in files.values()) <= most else {}


def _wheel(
    offers: Path, name: str, version: str, about: str, files: dict[str, str], entries: str = ""
) -> None:
    import zipfile

    stem = f"{name.replace('-', '_')}-{version}"
    tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(offers / f"{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{stem}.dist-info/METADATA", about)
        wheel.writestr(f"{stem}.dist-info/WHEEL", tags)
        wheel.writestr(f"{stem}.dist-info/RECORD", "")
        for file, path in files.items():
            wheel.write(path, file)
        if entries:
            wheel.writestr(f"{stem}.dist-info/entry_points.txt", entries)


def offer_built(offers: Path, pins: list[str]) -> None:
    """What the session had built from source, as wheels that hold nothing: it is there, and an
    index that has no wheel of it is not asked for one."""
    for pin in pins:
        name, version = pin.split("==", 1)
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        _wheel(offers, name, version, about, {})


def _belongs(file: str, path: str) -> bool:
    """Programs are elsewhere in the image than their record says; a build needs modules."""
    outside = file.startswith(("/", "..")) or "__pycache__" in file or ".dist-info/" in file
    return not outside and os.path.isfile(path)
