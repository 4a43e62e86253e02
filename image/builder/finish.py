# SPDX-License-Identifier: Apache-2.0
"""The last steps on an unpacked tree: smaller, faster, and safe to mount."""

import os
import shutil
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .progress import BuildError

# Paths in dist-packages that hold no code anybody imports.
DEAD_WEIGHT = (
    "pygame/docs", "pygame/examples", "pyarrow/include", "pyarrow/src", "plotly/labextension",
)  # fmt: skip


def prune(root: Path, site: Path) -> int:
    """Removes documentation and test suites; returns how many files went."""
    before = _count(root)
    for document in (root / "usr/share/doc").iterdir():
        if document.is_symlink():
            continue
        for entry in document.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != "copyright":
                entry.unlink()
    # Nothing imports these but tests themselves; image/tests would tell.
    for tests in [path for path in site.rglob("tests") if path.is_dir()]:
        shutil.rmtree(tests, ignore_errors=True)  # one may lie inside another
    for name in DEAD_WEIGHT:
        shutil.rmtree(site / name, ignore_errors=True)
    # The marker forbids `pip install` because apt owns the tree. Here nothing of apt is left.
    for marker in (root / "usr/lib").glob("python3.*/EXTERNALLY-MANAGED"):
        marker.unlink()
    return before - _count(root)


def _count(root: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(root))


def link_libraries(root: Path) -> None:
    done = subprocess.run(
        [str(root / "usr/sbin/ldconfig"), "-r", str(root)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not (root / "etc/ld.so.cache").exists():
        raise BuildError(
            f"ldconfig failed: {done.stderr.strip()}", "see image/packages.txt: libc-bin"
        )
    shutil.rmtree(root / "var/cache/ldconfig", ignore_errors=True)


def _compile_some(files: list[str], root: Path, python: list[str]) -> int:
    """Compiles; returns how many could not be (a package may ship templates named .py).

    A program of its own, not a fork of this one: if this is killed it ends by itself and holds no
    lock.
    """
    command = [
        *python, "-I", "-B", "-m", "compileall", "-q", "-s", str(root), "-p", "/",
        "--invalidation-mode", "unchecked-hash", "-i", "-",
    ]  # fmt: skip
    done = subprocess.run(
        command, input="\n".join(files), capture_output=True, text=True, check=False
    )
    failed = done.stdout.count("*** ")
    if done.returncode and not failed:
        raise BuildError(
            f"compileall failed: {done.stderr.strip()[-500:]}", "run image/build again"
        )
    return failed


def compile_python(root: Path, python: list[str]) -> tuple[int, int]:
    """Writes a .pyc beside every importable .py; returns (compiled, failed).

    Unchecked hashes: the interpreter neither stats nor reads the source, and times do not matter.
    `python` is the command of an interpreter of the image's version.
    """
    folders = [*sorted((root / "usr/lib").glob("python3*")), root / "usr/local/lib"]
    files = sorted(
        str(path) for folder in folders for path in folder.rglob("*.py") if path.is_file()
    )
    workers = min(os.cpu_count() or 2, 8)
    shares = [files[start::workers] for start in range(workers)]
    with ThreadPoolExecutor(max_workers=workers) as pool:
        failed = sum(pool.map(lambda share: _compile_some(share, root, python), shares))
    return len(files) - failed, failed


def normalise(root: Path) -> None:
    """Everything readable by all, nothing writable by others, nothing setuid, no special file."""
    for folder, directories, files in os.walk(root):
        os.chmod(folder, 0o755)
        for name in [*directories, *files]:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode):
                os.chmod(path, 0o755 if mode & 0o111 else 0o644)
            elif not (stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
                raise BuildError(f"{path} is a special file", "exclude its package")
