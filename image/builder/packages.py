# SPDX-License-Identifier: Apache-2.0
"""Packages of a release: asked of apt, fetched by apt, unpacked without running anything.

Trust: every .deb is checked against the hash in the signed lists, also one from our cache.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .apt import Apt
from .closure import Package, PackageList, choose, parse_package, reachable
from .progress import BuildError

# Never useful inside a session. Licences (usr/share/doc/*/copyright) stay.
NOT_UNPACKED = [
    "./boot",
    "./dev",
    "./lib/systemd",
    "./media",
    "./proc",
    "./sys",
    "./usr/games",
    "./usr/include",
    "./usr/lib/systemd",
    "./usr/lib/*/caca/libgl_plugin.so*",  # needs GLUT, which nothing brings
    "./usr/lib/*/gbm",  # a driver, as those in packages.txt that are left out
    "./usr/share/bash-completion",
    "./usr/share/bug",
    "./usr/share/doc-base",
    "./usr/share/info",
    "./usr/share/initramfs-tools",
    "./usr/share/lintian",
    "./usr/share/locale",
    "./usr/share/man",
    "./usr/share/menu",
    "./usr/share/zsh",
    "./usr/src",
    "./var",
]


def resolve(apt: Apt, listed: PackageList) -> list[Package]:
    """The whole set, in order of name."""
    available = set(apt.run("apt-cache", "pkgnames").split())
    roots = choose(listed.wishes, available)
    plan = apt.run("apt-get", "--simulate", "install", *roots)
    chosen = re.findall(r"^Inst (\S+) \((\S+)", plan, flags=re.MULTILINE)
    packages = _show(apt, [(name.partition(":")[0], version) for name, version in chosen])
    return reachable(roots, packages, listed)


def named(apt: Apt, names: list[str]) -> list[Package]:
    """Exactly these, without what they depend on."""
    plan = apt.run("apt-cache", "policy", *names)
    chosen = re.findall(r"^(\S+):\n.*\n  Candidate: (\S+)$", plan, flags=re.MULTILINE)
    packages = _show(apt, chosen)
    missing = [name for name in names if name not in packages]
    if missing:
        raise BuildError(
            f"release {apt.release} has no package {missing[0]}",
            "name a complete mirror with --mirror",
        )
    return [packages[name] for name in names]


def _show(apt: Apt, chosen: list[tuple[str, str]]) -> dict[str, Package]:
    exact = [f"{name}={version}" for name, version in chosen]
    stanzas = apt.run("apt-cache", "show", *exact).split("\n\n")
    shown = [parse_package(stanza) for stanza in stanzas if stanza.strip()]
    wanted = set(chosen)
    return {p.name: p for p in shown if (p.name, p.version) in wanted and p.sha256}


def _is_whole(deb: Path, package: Package) -> bool:
    try:
        if deb.stat().st_size != package.size:
            return False
        with deb.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == package.sha256
    except FileNotFoundError:
        return False


def fetch(apt: Apt, packages: list[Package], cache: Path) -> int:
    """Makes every .deb present in `cache`; returns the bytes that had to be downloaded."""
    cache.mkdir(parents=True, exist_ok=True)
    incoming = cache / "incoming"
    with open(cache / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [p for p in packages if not _is_whole(cache / p.deb, p)]
        if not missing:
            return 0
        shutil.rmtree(incoming, ignore_errors=True)  # of a build that was killed
        incoming.mkdir()
        _download(apt, missing, incoming)
        for package in missing:
            (incoming / package.deb).replace(cache / package.deb)
        incoming.rmdir()
    return sum(package.size for package in missing)


def _download(apt: Apt, packages: list[Package], folder: Path) -> None:
    exact = [f"{package.name}={package.version}" for package in packages]
    apt.run("apt-get", "download", *exact, cwd=folder)
    for package in packages:
        if not _is_whole(folder / package.deb, package):
            raise BuildError(
                f"package {package.name}: what apt fetched does not match the list's hash",
                "run image/build --force, which fetches the lists again",
            )


def _unpack_one(deb: Path, root: Path, only: tuple[str, ...]) -> None:
    excluded = [f"--exclude={pattern}" for pattern in NOT_UNPACKED]
    tar = ["tar", "--extract", "--file=-", f"--directory={root}", "--no-same-owner",
           "--no-same-permissions", "--keep-directory-symlink", "--delay-directory-restore",
           *(["--wildcards", *only] if only else excluded)]  # fmt: skip
    with subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as source:
        sink = subprocess.run(tar, stdin=source.stdout, capture_output=True, check=False)
        assert source.stdout and source.stderr
        source.stdout.close()
        complaint = source.stderr.read() + sink.stderr
    if source.returncode or sink.returncode:
        raise BuildError(
            f"package {deb.name} cannot be unpacked: {complaint.decode(errors='replace').strip()}",
            f"see that the disk is not full; remove {deb} and try again",
        )


def unpack(packages: list[Package], cache: Path, root: Path, only: tuple[str, ...] = ()) -> None:
    """All but NOT_UNPACKED, or only the members that these patterns name."""
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        list(pool.map(lambda package: _unpack_one(cache / package.deb, root, only), packages))
