# SPDX-License-Identifier: Apache-2.0
"""What the image and the session have, offered to uv as wheels: it looks no further for them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .sealed import __builtins__  # noqa: F401

POINT = "/usr/local/lib/vitrine-packages"


def key_of(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def offer_image(offers: Path, whole: int, environment: bool) -> None:
    """What the image has, as wheels that hold nothing but what they tell: uv looks no further,
    also where there is no index. Up to `whole` bytes they hold their files too: a build may need
    them, and its environment gets what is offered here."""
    import zipfile
    from importlib import metadata

    offers.mkdir()
    for item in metadata.distributions():
        about = item.read_text("METADATA")
        if not about or (POINT in str(item.locate_file("")) and not environment):
            continue
        stem = f"{key_of(item.metadata['Name']).replace('-', '_')}-{item.version}"
        with zipfile.ZipFile(offers / f"{stem}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{stem}.dist-info/METADATA", about)
            tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            wheel.writestr(f"{stem}.dist-info/WHEEL", tags)
            wheel.writestr(f"{stem}.dist-info/RECORD", "")
            files = {str(file): str(item.locate_file(file)) for file in item.files or ()}
            files = {file: path for file, path in files.items() if _belongs(file, path)}
            if whole and sum(os.path.getsize(path) for path in files.values()) <= whole:
                for file, path in files.items():
                    wheel.write(path, file)
                entries = item.read_text("entry_points.txt")
                if entries:
                    wheel.writestr(f"{stem}.dist-info/entry_points.txt", entries)


def offer_built(offers: Path, pins: list[str]) -> None:
    """What the session had built from source, as wheels that hold nothing: it is there, and an
    index that has no wheel of it is not asked for one."""
    import zipfile

    for pin in pins:
        name, version = pin.split("==", 1)
        stem = f"{name.replace('-', '_')}-{version}"
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        with zipfile.ZipFile(offers / f"{stem}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{stem}.dist-info/METADATA", about)
            wheel.writestr(f"{stem}.dist-info/WHEEL", tags)
            wheel.writestr(f"{stem}.dist-info/RECORD", "")


def _belongs(file: str, path: str) -> bool:
    """Programs are elsewhere in the image than their record says; a build needs modules."""
    outside = file.startswith(("/", "..")) or "__pycache__" in file or ".dist-info/" in file
    return not outside and os.path.isfile(path)
