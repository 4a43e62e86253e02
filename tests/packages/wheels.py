# SPDX-License-Identifier: Apache-2.0
"""Tiny wheels, made on the spot: an index without a network, and what attackers would put there."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
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


_BACKEND = """
import base64, hashlib, os, zipfile

NAME, VERSION = {name!r}, {version!r}


def work():
{work}


def build_wheel(directory, config_settings=None, metadata_directory=None):
    files = work() or {{}}
    info = f"{{NAME}}-{{VERSION}}.dist-info"
    files.setdefault(f"{{NAME}}.py", f"version = {{VERSION!r}}\\n")
    about = f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: {{VERSION}}\\n"
    files[f"{{info}}/METADATA"] = about
    files[f"{{info}}/WHEEL"] = (
        "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    )
    record = "".join(f"{{file}},,\\n" for file in files) + f"{{info}}/RECORD,,\\n"
    files[f"{{info}}/RECORD"] = record
    name = f"{{NAME}}-{{VERSION}}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return name
"""


def sdist(directory: Path, name: str, work: str = "pass", version: str = "1.0") -> Path:
    """A source distribution that brings its own way to be built; `work` is done while it is, and
    may return files by name."""
    indented = "".join(f"    {line}\n" for line in work.splitlines())
    backend = _BACKEND.format(name=name, version=version, work=indented.rstrip("\n"))
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    project = (
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "{name}"\nversion = "{version}"\n'
    )
    path = directory / f"{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file, text in (
            ("PKG-INFO", about),
            ("pyproject.toml", project),
            ("backend.py", backend),
        ):
            entry = tarfile.TarInfo(f"{name}-{version}/{file}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    path.chmod(0o644)
    return path
