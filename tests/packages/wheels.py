# SPDX-License-Identifier: Apache-2.0
"""Tiny wheels, made on the spot: an index without a network, and what attackers would put there."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path


def wheel(
    directory: Path,
    name: str,
    version: str = "1.0",
    files: dict[str, bytes | str] | None = None,
    requires: tuple[str, ...] = (),
    tag: str = "py3-none-any",
    scripts: dict[str, str] | None = None,
) -> Path:
    """A wheel that is right in form, whatever its files are."""
    files = dict(files if files is not None else {f"{name}.py": f"version = {version!r}\n"})
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {one}\n" for one in requires)
    files[f"{info}/METADATA"] = metadata
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n"
    )
    if scripts:
        lines = "".join(f"{script} = {target}\n" for script, target in scripts.items())
        files[f"{info}/entry_points.txt"] = "[console_scripts]\n" + lines
    record = ""
    path = directory / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            archive.writestr(file, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{file},sha256={digest},{len(data)}\n"
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    path.chmod(0o644)
    return path


def zip_bomb(directory: Path, name: str, size: int) -> Path:
    """Small to fetch, `size` bytes when unpacked."""
    return wheel(directory, name, files={f"{name}.py": "x = 1\n", f"{name}_data.bin": bytes(size)})
