# SPDX-License-Identifier: Apache-2.0
"""The order: one image from nothing, beside its final place, then renamed into it.

A killed build leaves only a `.partial-` directory, which the next one removes. Two builds of one
image wait for each other.
"""

import ctypes
import fcntl
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from . import closure, finish, fonts, inside, manifest, packages, recipe, skeleton, wheels
from .progress import BuildError, Progress

STEPS = 9
NEEDED_BYTES = 1536 << 20


def cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vitrine"


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


def _remove_leftovers(out: Path) -> None:
    for leftover in out.parent.glob(f"{out.name}.partial-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def tidy(out: Path) -> None:
    """Removes what a killed build left, unless a build is running or this user may not."""
    if not any(out.parent.glob(f"{out.name}.partial-*")):
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
    at_fdcwd, exchange = -100, 2
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(at_fdcwd, os.fsencode(partial), at_fdcwd, os.fsencode(out), exchange) != 0:
        # A filesystem that cannot exchange: for a moment there is no image, never half of one.
        old = partial.with_name(f"{partial.name}-old")
        out.rename(old)
        partial.rename(out)
        partial = old
    shutil.rmtree(partial)


def python_of(chosen: list[closure.Package]) -> tuple[str, str]:
    """("3.11", "3.11.2") of the set's python3."""
    by_name = {package.name: package.version for package in chosen}
    short = re.match(r"\d+\.\d+", by_name.get("python3", ""))
    full = re.match(r"[\d.]+\d", by_name.get(f"python{short[0]}", "")) if short else None
    if not short or not full:
        raise BuildError("no python3 in the set", "see image/packages.txt")
    return short[0], full[0]


def require_same_python(python: str) -> None:
    """The .pyc files are written by the interpreter that runs this."""
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    if python != running:
        raise BuildError(
            f"this runs in Python {running}, the release's own is {python}",
            f"see that {wheels.HOST_PYTHON} is the distribution's, and run image/build with it",
        )


def require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise BuildError(
            f"{folder} has {_mib(free)} free, a build needs {_mib(NEEDED_BYTES)}",
            "make room, or name another place with --out",
        )


def build(image_dir: Path, out: Path, host: recipe.Host, quiet: bool) -> None:
    """Makes the image at `out`; the caller holds `only_build_of(out)`."""
    partial = out.with_name(f"{out.name}.partial-{os.getpid()}")
    os.umask(0o022)
    require_space(out.parent)
    try:
        _build(image_dir, partial, host, Progress(STEPS, quiet))
        put_in_place(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _build(image_dir: Path, partial: Path, host: recipe.Host, progress: Progress) -> None:
    root = partial / "root"
    cache = cache_dir()
    lock_path = image_dir / "wheels.lock"
    lock = wheels.read_lock(lock_path)
    uv = wheels.find_uv(image_dir.parent)
    recipe_now = recipe.recipe_hash(image_dir, host)

    with progress.step("resolve packages") as step:
        listed = closure.parse_list((image_dir / "packages.txt").read_text())
        chosen = packages.resolve(listed)
        python, python_full = python_of(chosen)
        wheels.require_python(lock, python)
        require_same_python(python)
        step.result = f"{len(chosen)} packages, Python {python_full}"

    with progress.step("fetch packages") as step:
        fetched = packages.fetch(chosen, cache / "debs")
        total = sum(package.size for package in chosen)
        step.result = f"{_mib(fetched)} fetched, {_mib(total - fetched)} cached"

    with progress.step("unpack packages") as step:
        skeleton.before_packages(root, host.architecture)
        packages.unpack(chosen, cache / "debs", root)
        skeleton.after_packages(root)
        step.result = f"{len(chosen)} packages"

    with progress.step("install wheels") as step:
        installed = wheels.install(uv, lock_path, root, python, cache / "uv")
        site = root / f"usr/local/lib/python{python}/dist-packages"
        fonts.set_matplotlib_fallback(root, site)
        step.result = f"{len(installed)} wheels"

    with progress.step("leave out tests and documents") as step:
        step.result = f"{finish.prune(root, site)} files removed"

    with progress.step("link libraries"):
        finish.link_libraries(root)

    with progress.step("compile Python") as step:
        compiled, failed = finish.compile_python(root)
        step.result = f"{compiled} files" + (f", {failed} not valid Python" if failed else "")

    with progress.step("build caches") as step:
        finish.normalise(root)
        if inside.possible(root):
            fonts.build_caches(root)
            finish.normalise(root)
            step.result = "fontconfig, matplotlib"
        else:
            step.result = "skipped"
            progress.note(
                "no font caches: this user may not make namespaces; sessions start slower"
            )

    with progress.step("count and sign off") as step:
        counted = manifest.census(root)
        if counted.unsafe:
            raise BuildError(f"{counted.unsafe} must not be in an image", "exclude its package")
        made = {
            "format": manifest.FORMAT,
            "recipe": recipe_now,
            "release": host.release,
            "architecture": host.architecture,
            "python": python_full,
            "built_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "packages": {package.name: package.version for package in chosen},
            "wheels": installed,
            "size_bytes": counted.size_bytes,
            "files": counted.files,
        }
        (partial / "manifest.json").write_text(json.dumps(made, indent=1) + "\n")
        step.result = f"{counted.files} files, {_mib(counted.size_bytes)}"


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"
