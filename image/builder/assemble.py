# SPDX-License-Identifier: Apache-2.0
"""The order: one image from nothing, beside its final place, then renamed into it."""

import json
import os
import re
import shutil
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from . import (
    closure,
    finish,
    fonts,
    inside,
    interpreter,
    keymap,
    manifest,
    packages,
    place,
    recipe,
    skeleton,
    wheels,
)
from .apt import Apt
from .progress import BuildError, Progress
from .release import Release, Target

STEPS = 10
NEEDED_BYTES = 3072 << 20


def cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vitrine"


def python_of(chosen: list[closure.Package]) -> tuple[str, str]:
    """("3.11", "3.11.2") of the set's python3."""
    by_name = {package.name: package.version for package in chosen}
    short = re.match(r"\d+\.\d+", by_name.get("python3", ""))
    full = re.match(r"[\d.]+\d", by_name.get(f"python{short[0]}", "")) if short else None
    if not short or not full:
        raise BuildError("no python3 in the set", "see image/packages.txt")
    return short[0], full[0]


def require_release_python(python: str, release: Release) -> None:
    """The extension and the bytecode are made for the Python that the table names."""
    if python != release.python:
        raise BuildError(
            f"release {release.name} has Python {python}, expected {release.python}",
            "correct RELEASES in image/builder/release.py, or name another mirror",
        )


def require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise BuildError(
            f"{folder} has {_mib(free)} free, a build needs {_mib(NEEDED_BYTES)}",
            "make room, or name another place with --out",
        )


@dataclass(frozen=True)
class Order:
    """What is to be made, and from where."""

    image_dir: Path  # the recipe
    release: Release
    target: Target
    apt: Apt
    update: bool  # fetch the package lists, however new they are


def python_dir(image_dir: Path, release: Release) -> Path:
    return image_dir.parent / "build/python" / release.python


def make_interpreter(order: Order) -> Path:
    out = python_dir(order.image_dir, order.release)
    if not interpreter.is_made(out, order.target):
        with order.apt.locked():
            order.apt.refresh(now=False)
            debs = cache_dir() / "debs"
            interpreter.make(order.apt, order.release, order.target, debs, out)
    return out


def build(order: Order, out: Path, quiet: bool) -> None:
    """Makes the image at `out`; the caller holds `place.only_build_of(out)`."""
    partial = place.partial_of(out)
    os.umask(0o022)
    require_space(out.parent)
    try:
        _build(order, partial, Progress(STEPS, quiet))
        place.put_in_place(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _build(order: Order, partial: Path, progress: Progress) -> None:
    root = partial / "root"
    cache = cache_dir()
    lock_path = order.image_dir / "wheels.lock"
    lock = wheels.read_lock(lock_path)
    uv = wheels.find_uv(order.image_dir.parent)
    recipe_now = recipe.recipe_hash(order.image_dir, order.target)
    apt = order.apt

    with apt.locked():
        with progress.step("read package lists") as step:
            note = apt.refresh(order.update)
            step.result = f"{order.release.name}, {_age(apt.age())}"
        if note:
            progress.note(note)

        with progress.step("resolve packages") as step:
            listed = closure.parse_list((order.image_dir / "packages.txt").read_text())
            chosen = packages.resolve(apt, listed)
            python, python_full = python_of(chosen)
            wheels.require_python(lock, python)
            require_release_python(python, order.release)
            step.result = f"{len(chosen)} packages, Python {python_full}"

        with progress.step("fetch packages") as step:
            fetched = packages.fetch(apt, chosen, cache / "debs")
            total = sum(package.size for package in chosen)
            step.result = f"{_mib(fetched)} fetched, {_mib(total - fetched)} cached"

    make_interpreter(order)

    with progress.step("unpack packages") as step:
        skeleton.before_packages(root, order.target.architecture)
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
        compiled, failed = finish.compile_python(
            root, interpreter.command(python_dir(order.image_dir, order.release))
        )
        step.result = f"{compiled} files" + (f", {failed} not valid Python" if failed else "")

    with progress.step("build caches") as step:
        finish.normalise(root)
        if inside.possible(root):
            fonts.build_caches(root)
            keymap.build(root)
            finish.normalise(root)
            step.result = "fontconfig, matplotlib, keymap"
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
            "release": order.target.release,
            "architecture": order.target.architecture,
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


def _age(seconds: float) -> str:
    return "fetched now" if seconds < 60 else f"fetched {seconds / 3600:.0f} hours ago"
