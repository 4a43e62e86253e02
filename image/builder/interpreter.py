# SPDX-License-Identifier: Apache-2.0
"""The release's Python for this host: headers, and an interpreter for the image's bytecode.

It is unpacked beside the build and runs through its own loader and C library, so it needs neither
root nor namespaces nor a host of the same release. Sessions never see it: what runs on the host is
no file of an image that they read.

    DIR/python            runs it
    DIR/root              the interpreter, the standard library, the C library
    DIR/root/usr/include  the headers of `libpythonX.Y-dev`, and no others
"""

import json
import shutil
import subprocess
from pathlib import Path

from . import packages, place, skeleton
from .apt import Apt
from .progress import BuildError
from .release import Release, Target

FORMAT = 1

# $here is found at each start: the tree may be moved.
WRAPPER = """\
#!/bin/sh
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)/root
exec "$here/{loader}" --inhibit-cache --library-path "$here/{libraries}" \\
  "$here/usr/bin/python{python}" "$@"
"""


def parts(python: str) -> list[str]:
    minimal = [f"python{python}-minimal", f"libpython{python}-minimal"]
    return [*minimal, f"libpython{python}-stdlib", "libc6", "libexpat1", "zlib1g"]


def command(directory: Path) -> list[str]:
    return [str(directory / "python")]


def is_made(directory: Path, target: Target) -> bool:
    try:
        made = json.loads((directory / "made.json").read_text())
    except (OSError, ValueError):
        return False
    return bool(
        made.get("format") == FORMAT
        and (made.get("release"), made.get("architecture")) == (target.release, target.architecture)
        and (directory / "python").exists()
    )


def make(apt: Apt, release: Release, target: Target, debs: Path, out: Path) -> None:
    """Makes `out` if it is not there; the caller holds `apt.locked()`."""
    if is_made(out, target):
        return
    partial = place.partial_of(out)
    with place.only_build_of(out):
        if is_made(out, target):
            return
        try:
            _fill(apt, release, target, debs, partial)
            shutil.rmtree(out, ignore_errors=True)
            partial.rename(out)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _fill(apt: Apt, release: Release, target: Target, debs: Path, out: Path) -> None:
    root = out / "root"
    headers = f"libpython{release.python}-dev"
    chosen = packages.named(apt, [*parts(release.python), headers])
    packages.fetch(apt, chosen, debs)
    skeleton.merge_usr(root, target.architecture)
    packages.unpack(chosen[:-1], debs, root)
    packages.unpack(chosen[-1:], debs, root, only=("./usr/include/*",))
    loaders = sorted((root / "usr").glob("lib*/ld-linux*.so.*"))
    libraries = sorted((root / "usr/lib").glob("*-linux-gnu*/libc.so.6"))
    if not loaders or not libraries:
        raise BuildError("package libc6 brought no loader", "see image/builder/interpreter.py")
    wrapper = out / "python"
    wrapper.write_text(
        WRAPPER.format(
            loader=loaders[0].relative_to(root),
            libraries=libraries[0].parent.relative_to(root),
            python=release.python,
        )
    )
    wrapper.chmod(0o755)
    _try(wrapper, release.python)
    made = {
        "format": FORMAT,
        "release": target.release,
        "architecture": target.architecture,
        "packages": {package.name: package.version for package in chosen},
    }
    (out / "made.json").write_text(json.dumps(made, indent=1) + "\n")


def _try(wrapper: Path, python: str) -> None:
    code = "import sys, compileall; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run(
        [str(wrapper), "-I", "-c", code], capture_output=True, text=True, check=False
    )
    if done.stdout.strip() != python:
        raise BuildError(
            f"Python {python} does not run on this host: {done.stderr.strip()[-300:]}",
            "see that the kernel is Linux 5.14 or later",
        )
