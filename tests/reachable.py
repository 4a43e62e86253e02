# SPDX-License-Identifier: Apache-2.0
"""What was built can be reached by every user id.

As root the tests also start keepers as an ordinary user (65534). Below a directory of mode 0700,
such as /root, that user cannot reach build/. The repository is then mounted a second time, at a
place that everybody can reach, in a mount namespace of this process and its children: other
processes do not see it, and it ends with this one. VITRINE_BUILD and VITRINE_IMAGE point to it.
"""

from __future__ import annotations

import ctypes
import os
import stat
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES = ("/mnt", "/media", "/srv")  # one of them is covered, for the tests alone
BUILDS = {"VITRINE_BUILD": ROOT / "build" / "dev", "VITRINE_IMAGE": ROOT / "build" / "image"}
_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000


def is_open_to_all(path: Path) -> bool:
    """Whether everybody may pass through the directory and all above it."""
    return all(one.stat().st_mode & stat.S_IXOTH for one in (path, *path.parents))


def _call(name: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount_again(repository: Path) -> Path:
    """Where everybody finds the repository from now on. OSError if this process may not mount."""
    place = next(Path(one) for one in PLACES if os.path.isdir(one) and is_open_to_all(Path(one)))
    _call("unshare", _CLONE_NEWNS)
    _call("mount", None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None)
    _call("mount", b"tmpfs", bytes(place), b"tmpfs", ctypes.c_ulong(0), b"mode=0755")
    again = place / "vitrine"
    again.mkdir(mode=0o755)
    _call("mount", bytes(repository), bytes(again), None,
          ctypes.c_ulong(_MS_BIND | _MS_REC), None)  # fmt: skip
    return again


def make_reachable() -> None:
    """To be called before a test reads the variables."""
    if os.geteuid() != 0 or is_open_to_all(ROOT):
        return
    again = mount_again(ROOT)
    for name, default in BUILDS.items():
        path = Path(os.environ.get(name, default)).resolve()
        if path.is_relative_to(ROOT):
            os.environ[name] = str(again / path.relative_to(ROOT))
