# SPDX-License-Identifier: Apache-2.0
"""Writing what a session sent to the local disk: never outside of the directory that was named.

The names in an archive were chosen by untrusted code.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .errors import UnsafePath


@contextlib.contextmanager
def open_fresh(target: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `target` once it is complete."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    try:
        with open(descriptor, "wb") as sink:
            yield sink
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def unpack(tar: tarfile.TarFile, local: Path) -> Path:
    """Files and directories only: no links, no devices, no owners and no special modes."""
    local.mkdir(parents=True, exist_ok=True)
    for member in tar:
        parts = [part for part in member.name.split("/") if part not in ("", ".")]
        if member.name.startswith("/") or ".." in parts or "\0" in member.name:
            raise UnsafePath(f"the archive holds a path that leads outside: {member.name!r}")
        if not parts or not (member.isreg() or member.isdir()):
            continue
        directory = _descend(local, parts if member.isdir() else parts[:-1])
        if member.isreg():
            content = tar.extractfile(member)
            assert content is not None
            with open_fresh(directory / parts[-1]) as sink:
                shutil.copyfileobj(content, sink)
    return local


def _descend(local: Path, parts: list[str]) -> Path:
    at = local
    for part in parts:
        at = at / part
        if at.is_symlink():
            raise UnsafePath(f"{str(at)!r} is a link; nothing is written through it")
        at.mkdir(exist_ok=True)
    return at


def _umask() -> int:
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    except OSError:
        pass
    return 0o077
