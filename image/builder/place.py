# SPDX-License-Identifier: Apache-2.0
"""Where an image lies, and who may change that.

Beside `out` there may be, for a while: `out.lock`, held by the one build that runs;
`out.partial-N`, a build under way or killed; `out.old-N`, an image that was replaced while in use.
The next build removes what nobody needs. "In use" means that somebody holds a shared flock on the
image's manifest.json, as the server does while it runs.
"""

import ctypes
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def only_build_of(out: Path) -> Iterator[None]:
    out.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{out}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("image: waiting for another build", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        _remove_leftovers(out)
        yield


def partial_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial-{os.getpid()}")


def tidy(out: Path) -> None:
    """Removes leftovers, unless a build is running or this user may not."""
    if not _leftovers(out):
        return
    try:
        with open(f"{out}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove_leftovers(out)
    except OSError:
        return


def put_in_place(partial: Path, out: Path) -> None:
    """`out` is at every moment the old image or the new one."""
    if not out.exists():
        partial.rename(out)
        return
    old = out.with_name(f"{out.name}.old-{os.getpid()}")
    at_fdcwd, exchange = -100, 2
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(at_fdcwd, os.fsencode(partial), at_fdcwd, os.fsencode(out), exchange) == 0:
        partial.rename(old)
    else:
        # A filesystem that cannot exchange: for a moment there is no image, never half of one.
        out.rename(old)
        partial.rename(out)
    if _in_use(old):
        print(f"image: the old one is in use, so it stays for now: {old}", file=sys.stderr)
    else:
        _remove(old)


def _leftovers(out: Path) -> list[Path]:
    return [
        *out.parent.glob(f"{out.name}.partial-*"),
        *(old for old in out.parent.glob(f"{out.name}.old-*") if not _in_use(old)),
    ]


def _remove_leftovers(out: Path) -> None:
    for leftover in _leftovers(out):
        _remove(leftover)


def _remove(tree: Path) -> None:
    # A child of a killed build may write for a moment longer.
    for _ in range(5):
        shutil.rmtree(tree, ignore_errors=True)
        if not tree.exists():
            return
        time.sleep(0.2)


def _in_use(image: Path) -> bool:
    try:
        with open(image / "manifest.json") as manifest:
            fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
