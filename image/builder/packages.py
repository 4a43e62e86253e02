# SPDX-License-Identifier: Apache-2.0
"""Packages of the host's release: asked of apt, fetched by apt, unpacked without running anything.

Trust: apt checks the lists' signatures; every .deb is checked again against the hash in the lists,
also when it comes from our cache.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .closure import Package, PackageList, choose, parse_package, reachable
from .progress import BuildError

# The host's own packages do not count, and apt's caches are left alone.
APT_OPTIONS = [
    "-o", "Dir::State::status=/dev/null",
    "-o", "Dir::State::extended_states=/dev/null",
    "-o", "Dir::Cache::pkgcache=",
    "-o", "Dir::Cache::srcpkgcache=",
    "-o", "APT::Install-Recommends=false",
    "-o", "APT::Install-Suggests=false",
]  # fmt: skip

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


def _apt(arguments: list[str], cwd: Path | None = None) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            arguments, capture_output=True, text=True, env=environment, cwd=cwd, check=False
        )
    except FileNotFoundError as error:
        raise BuildError(f"{arguments[0]} is missing", "install the package apt") from error
    if done.returncode:
        last_words = "\n    ".join(done.stderr.strip().splitlines()[-6:])
        raise BuildError(
            f"{' '.join(arguments[:1] + arguments[-3:])} failed:\n    {last_words}",
            "run `apt-get update` and see that the package sources can be reached",
        )
    return done.stdout


def resolve(listed: PackageList) -> list[Package]:
    """The whole set, in order of name."""
    available = set(_apt(["apt-cache", *APT_OPTIONS, "pkgnames"]).split())
    if not available:
        raise BuildError("apt has no package lists", "run `apt-get update` as root")
    roots = choose(listed.wishes, available)
    plan = _apt(["apt-get", *APT_OPTIONS, "--simulate", "install", *roots])
    chosen = re.findall(r"^Inst (\S+) \((\S+)", plan, flags=re.MULTILINE)
    exact = [f"{name}={version}" for name, version in chosen]
    stanzas = _apt(["apt-cache", *APT_OPTIONS, "show", *exact]).split("\n\n")
    shown = [parse_package(stanza) for stanza in stanzas if stanza.strip()]
    wanted = {(name.partition(":")[0], version) for name, version in chosen}
    packages = {p.name: p for p in shown if (p.name, p.version) in wanted and p.sha256}
    return reachable(roots, packages, listed)


def _is_whole(deb: Path, package: Package) -> bool:
    try:
        if deb.stat().st_size != package.size:
            return False
        with deb.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == package.sha256
    except FileNotFoundError:
        return False


def fetch(packages: list[Package], cache: Path) -> int:
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
        _download(missing, incoming)
        for package in missing:
            (incoming / package.deb).replace(cache / package.deb)
        incoming.rmdir()
    return sum(package.size for package in missing)


def _download(packages: list[Package], folder: Path) -> None:
    # As root apt would switch to a user of its own, who cannot enter a home directory.
    options = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    exact = [f"{package.name}={package.version}" for package in packages]
    _apt(["apt-get", *APT_OPTIONS, *options, "download", *exact], cwd=folder)
    for package in packages:
        if not _is_whole(folder / package.deb, package):
            raise BuildError(
                f"package {package.name}: what apt fetched does not match the list's hash",
                "run `apt-get update` and try again",
            )


def _unpack_one(deb: Path, root: Path) -> None:
    tar = ["tar", "--extract", "--file=-", f"--directory={root}", "--no-same-owner",
           "--no-same-permissions", "--keep-directory-symlink", "--delay-directory-restore",
           *(f"--exclude={pattern}" for pattern in NOT_UNPACKED)]  # fmt: skip
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


def unpack(packages: list[Package], cache: Path, root: Path) -> None:
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        list(pool.map(lambda package: _unpack_one(cache / package.deb, root), packages))
