#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `./dev` on a machine that has nothing: `./dev test --fresh` calls this.

A Debian tree with git, ca-certificates and sudo alone is made by mmdebstrap (or debootstrap) from
this machine's package sources; a clean clone of HEAD lies below a directory of mode 0700; `./dev`
runs there in namespaces of its own (mounts, processes, cgroups), as root or as a user with sudo.
The network is this machine's, and so is the configuration of apt, pip and uv.

Needs root. Nothing is left afterwards, also after Ctrl-C: the tree, the processes and the cgroups
go; --keep leaves the tree. Commits count, not what is uncommitted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = "git,ca-certificates,sudo"
USER = "builder"
KEPT = "kept"  # a file beside a tree that is not to be swept
# Of this machine: what leads to the network's packages, and the certificates of who is in between.
CONFIGURATION = (
    "etc/resolv.conf",
    "etc/hosts",
    "etc/pip.conf",
    "etc/uv",
    "etc/xdg/pip",
    "usr/local/share/ca-certificates",
)
OF_A_HOME = (".config/pip", ".pip", ".config/uv", ".netrc")
VARIABLES = ("PIP_", "UV_", "SSL_CERT_", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_")
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
# The first process of the tree: mounts, and a root that is no chroot, in which user namespaces
# would be refused. Arguments: the tree, then the command.
INNER = r"""
set -eu
tree=$1; shift
mount --make-rprivate /
mount --bind "$tree" "$tree"
cd "$tree"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount --bind dev/pts/ptmx dev/ptmx
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
awk '{ for (i = 7; $i != "-"; i++); print $5, $(i+1), $(i+3) }' /proc/self/mountinfo |
while read -r where kind options; do
  case $kind:$where in
    tmpfs:/sys/fs/cgroup) mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup ;;
    cgroup:*) mkdir -p ".$where"; mount -t cgroup -o "${options#rw,}" cgroup ".$where" ;;
    cgroup2:*) mkdir -p ".$where"; mount -t cgroup2 cgroup2 ".$where" ;;
  esac
done
if [ -n "${FRESH_CACHE:-}" ]; then mkdir -p cache; mount --bind "$FRESH_CACHE" cache; fi
pivot_root . mnt
cd /
umount -l /mnt
# Somebody has to collect what lost its parent, as the first process of a machine does.
"$@" &
wait $!
"""


def say(text: str) -> None:
    print(f"fresh: {text}", file=sys.stderr, flush=True)


def run(*command: str | Path, **options: object) -> None:
    subprocess.run([str(word) for word in command], check=True, **options)  # type: ignore[call-overload]


# ---- the tree


def network_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(VARIABLES) or name.lower() in PROXIES
    }


def apt_options() -> list[str]:
    """How this machine's apt fetches: proxies, checks of dates and the like."""
    dump = subprocess.run(
        ["apt-config", "dump", "--no-empty", "Acquire"], capture_output=True, text=True, check=True
    )
    return [line for line in dump.stdout.splitlines() if "::" in line]


def release() -> str:
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.partition("=")[2].strip('"')
    raise SystemExit("fresh: this system's release has no name")


def apt_sources() -> list[Path]:
    places = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").iterdir())]
    return [path for path in places if path.suffix in (".list", ".sources") and path.is_file()]


def first_mirror() -> str:
    text = "\n".join(path.read_text() for path in apt_sources())
    for word in text.replace("URIs:", " ").split():
        if word.startswith("http"):
            return word
    raise SystemExit("fresh: this machine's apt has no source that a tree could be made from")


def make_tree(tree: Path) -> None:
    if shutil.which("mmdebstrap"):
        options = [f"--aptopt={line}" for line in apt_options()]
        run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", *options,
            release(), tree, *apt_sources())  # fmt: skip
    elif shutil.which("debootstrap"):
        run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", release(), tree,
            first_mirror(), stdout=subprocess.DEVNULL)  # fmt: skip
        for path in apt_sources():
            shutil.copy(path, tree / path.relative_to("/"))
        (tree / "etc/apt/apt.conf.d/99fresh").write_text("\n".join(apt_options()) + "\n")
    else:
        raise SystemExit("fresh: neither mmdebstrap nor debootstrap is here\n  remedy: install one")


def copy_if_there(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def configure(tree: Path, home: Path, as_user: bool) -> None:
    for name in CONFIGURATION:
        copy_if_there(Path("/", name), tree / name)
    for name in OF_A_HOME:
        copy_if_there(Path.home() / name, home / name)
    run("chroot", tree, "update-ca-certificates", stdout=subprocess.DEVNULL)
    (tree / "etc/hostname").write_text("fresh\n")
    if as_user:
        run("chroot", tree, "useradd", "--create-home", "--shell", "/bin/bash", USER)
        keep = " ".join([*PROXIES, *(name.upper() for name in PROXIES)])
        (tree / "etc/sudoers.d/fresh").write_text(
            f'Defaults env_keep += "{keep}"\n{USER} ALL=(ALL) NOPASSWD: ALL\n'
        )


def clone(tree: Path, home: Path, as_user: bool) -> None:
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, home / "vitrine")
    home.chmod(0o700)
    if as_user:
        run("chroot", tree, "chown", "-R", f"{USER}:{USER}", "/" + str(home.relative_to(tree)))


# ---- the cgroups


def hierarchies() -> list[Path]:
    """This process's own group in every hierarchy."""
    own = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        own[names] = path
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        words = line.split()
        kind, _, options = words[words.index("-") + 1 :][:3]
        if kind == "cgroup2":
            found.append(Path(words[4] + own.get("", "/")))
        elif kind == "cgroup":
            name = next(
                (n for n in own if n and set(n.split(",")) <= set(options.split(","))), None
            )
            if name is not None:
                found.append(Path(words[4] + own[name]))
    return found


@contextlib.contextmanager
def own_groups() -> Iterator[list[Path]]:
    """One group in every hierarchy, so that nothing inside has the name of something outside."""
    made = []
    for parent in hierarchies():
        group = parent / f"vitrine-fresh-{os.getpid()}"
        with contextlib.suppress(OSError):  # read-only: the tests inside do without
            group.mkdir()
            made.append(group)
            if (parent / "cgroup.controllers").exists():
                for name in (parent / "cgroup.controllers").read_text().split():
                    with contextlib.suppress(OSError):
                        (parent / "cgroup.subtree_control").write_text(f"+{name}")
            for name in ("cpuset.cpus", "cpuset.mems"):
                if (group / name).exists():
                    (group / name).write_text((parent / name).read_text())
    try:
        yield made
    finally:
        for group in made:
            end_group(group)


def members(group: Path) -> list[int]:
    pids = []
    for directory, _, _ in os.walk(group):
        with contextlib.suppress(OSError):
            pids += [int(one) for one in Path(directory, "cgroup.procs").read_text().split()]
    return pids


def end_group(group: Path) -> None:
    latest = time.monotonic() + 20
    while (pids := members(group)) and time.monotonic() < latest:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for directory, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(directory)
    if group.exists():
        say(f"left behind: {group}")


# ---- the run


def inside(tree: Path, home: Path, command: list[str], as_user: bool, cache: Path | None) -> int:
    at_home = "/" + str(home.relative_to(tree))
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": at_home,
        "LANG": "C.UTF-8",
        "TERM": os.environ.get("TERM", "dumb"),
        **network_environment(),
    }
    if cache is not None:
        cache = cache / ("sudo" if as_user else "root")  # what root keeps, the user may not read
        if not cache.exists():
            cache.mkdir(parents=True)
            cache.chmod(0o1777)
        environment["FRESH_CACHE"] = str(cache)
        environment["CCACHE_DIR"] = "/cache/ccache"
        environment["UV_CACHE_DIR"] = "/cache/uv"
        environment["PIP_CACHE_DIR"] = "/cache/pip"
    if as_user:
        command = ["runuser", "-u", USER, "--", *command]
    with own_groups() as groups:

        def join() -> None:
            for group in groups:
                (group / "cgroup.procs").write_text("0")

        process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--ipc", "--uts",
             "sh", "-c", INNER, "fresh", str(tree), "env", "-C", f"{at_home}/vitrine", *command],
            env=environment, preexec_fn=join)  # fmt: skip
        try:
            return process.wait()
        finally:
            process.kill()
            process.wait()


def sweep() -> None:
    """What a run left that was killed."""
    for old in Path("/var/tmp").glob("vt-*-fresh-*"):
        if not Path("/proc", old.name.split("-")[1]).exists() and not (old / KEPT).exists():
            shutil.rmtree(old, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/fresh.py", description=__doc__)
    parser.add_argument("--as", dest="who", choices=("root", "sudo"), default="root")
    parser.add_argument("--cache", type=Path, help="kept between runs: ccache, uv, pip")
    parser.add_argument("--tree", type=Path, help="the tree that --keep left, and what is in it")
    parser.add_argument("--keep", action="store_true", help="leave the tree, and say where it is")
    parser.add_argument("command", nargs="*", default=["./dev", "test"])
    given = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("fresh: making a tree needs root\n  remedy: sudo ./dev test --fresh")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(130))
    as_user = given.who == "sudo"
    sweep()
    place = Path(tempfile.mkdtemp(prefix=f"vt-{os.getpid()}-fresh-", dir="/var/tmp"))
    tree = given.tree or place / "tree"
    home = tree / (f"home/{USER}" if as_user else "root")
    try:
        started = time.monotonic()
        if not given.tree:
            place.chmod(0o755)
            make_tree(tree)
            configure(tree, home, as_user)
            clone(tree, home, as_user)
            say(f"a tree as {given.who}, made in {time.monotonic() - started:.0f} s: {tree}")
        status = inside(tree, home, given.command, as_user, given.cache)
        say(f"{' '.join(given.command)}: exit {status} after {time.monotonic() - started:.0f} s")
        return status
    except KeyboardInterrupt:
        say("stopped")
        return 130
    except subprocess.CalledProcessError as error:
        say(f"{error.cmd[0]} failed with {error.returncode}")
        return 1
    finally:
        if given.keep and not given.tree:
            (place / KEPT).touch()
            say(f"kept: {tree}")
        else:
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
