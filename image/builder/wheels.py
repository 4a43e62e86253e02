# SPDX-License-Identifier: Apache-2.0
"""Wheels: every version pinned and every file hashed in wheels.lock, installed by uv.

Nothing is built from source, so no code of a package runs while the image is made.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .progress import BuildError

PYTHONS_MARKER = "pythons:"
HOST_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Lock:
    pythons: tuple[str, ...]  # "3.11"
    pins: tuple[tuple[str, str], ...]  # name, version; a name may have one version per Python


def parse_lock(text: str) -> Lock:
    marker = re.search(rf"^# {PYTHONS_MARKER} *(.+)$", text, flags=re.MULTILINE)
    pins: list[tuple[str, str]] = []
    unhashed: str | None = None
    for line in text.splitlines():
        pin = re.match(r"([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", line)
        if pin:
            if unhashed:
                break
            pins.append((pin[1].lower(), pin[2]))
            unhashed = pin[1]
        elif line.lstrip().startswith("--hash=sha256:"):
            unhashed = None
    if unhashed:
        raise BuildError(f"wheels.lock: {unhashed} has no hash", "run image/relock")
    if not marker or not pins:
        raise BuildError("wheels.lock is damaged", "restore it, or run image/relock")
    return Lock(tuple(marker[1].split()), tuple(pins))


def read_lock(path: Path) -> Lock:
    return parse_lock(path.read_text())


def require_python(lock: Lock, python: str) -> None:
    if python not in lock.pythons:
        raise BuildError(
            f"this release's Python is {python}; wheels.lock covers {', '.join(lock.pythons)}",
            "add it to PYTHONS in image/relock and run that, or build on a release that has one",
        )


def find_uv(repository: Path) -> str:
    beside = repository / "build" / "venv" / "bin"
    found = shutil.which("uv", path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    if not found:
        raise BuildError("uv is missing", "run `./dev setup`")
    return found


def install_command(uv: str, lock: Path, target: Path, python: str) -> list[str]:
    return [
        uv, "pip", "install", "--require-hashes", "--only-binary", ":all:", "--no-deps",
        "--python", HOST_PYTHON, "--python-version", python, "--target", str(target),
        "--link-mode", "copy", "--requirement", str(lock),
    ]  # fmt: skip


def install(uv: str, lock: Path, root: Path, python: str, cache: Path) -> dict[str, str]:
    """Fills dist-packages; returns what is in it, by name."""
    site = root / f"usr/local/lib/python{python}/dist-packages"
    site.mkdir(parents=True)
    command = install_command(uv, lock, site, python)
    environment = {**os.environ, "UV_CACHE_DIR": str(cache)}
    for mode in (["--offline"], []):  # what is in the cache needs no network
        done = subprocess.run(
            [*command, *mode], capture_output=True, text=True, env=environment, check=False
        )
        if not done.returncode:
            break
    else:
        last_words = "\n    ".join(done.stderr.strip().splitlines()[-8:])
        raise BuildError(
            f"uv could not install the locked wheels:\n    {last_words}",
            "see that the package index can be reached; if a file was withdrawn, run image/relock",
        )
    _move_scripts(site, root / "usr/local")
    return installed(site)


def _move_scripts(site: Path, local: Path) -> None:
    """`--target` puts scripts and data inside dist-packages; they belong beside it."""
    (local / "bin").mkdir(parents=True, exist_ok=True)
    scripts = site / "bin"
    if scripts.is_dir():
        for script in sorted(scripts.iterdir()):
            script.replace(local / "bin" / script.name)
        scripts.rmdir()
    for name in ("share", "etc", "include"):
        shutil.rmtree(site / name, ignore_errors=True)
    (site / ".lock").unlink(missing_ok=True)


def installed(site: Path) -> dict[str, str]:
    found = {}
    for info in sorted(site.glob("*.dist-info")):
        name, _, version = info.name.removesuffix(".dist-info").partition("-")
        found[name.lower().replace("_", "-")] = version
    return found
