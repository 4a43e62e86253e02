#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a stage of the tests left behind: processes, mounts, cgroups and files.

A pytest plugin: with `--stage NAME` the run gets a temporary directory of its own (PLACE, as
TMPDIR) and fails if something is left at its end; what it was is named and removed. A stage that
is not pytest's is wrapped:
  leftovers.py begin PLACE          makes PLACE, sweeps what killed runs left, notes what is there
  leftovers.py end PLACE [SECONDS]  waits for what is ending, then names and removes the rest
  leftovers.py run COMMAND...       both, around a command; PLACE is a new directory
Other servers and other runs may be at work on the same machine: what may be theirs is not touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

try:
    import pytest
except ImportError:  # as a program it needs the standard library alone
    pytest = None  # type: ignore[assignment]

PATIENCE = 10.0  # seconds: what the last test killed may still be ending
STARTING = 60.0  # seconds
LEFT_BEHIND = 6  # exit status of a run of pytest that left something
NOTES = ".before"
# The tests name their keepers after their own process; `vitrine serve` does so after its data.
NAMED_BY_A_TEST = re.compile(r"vitrine-[a-z]+-(\d+)(-|$)")
NAMED_BY_DATA = re.compile(r"vitrine-data-[0-9a-f]{12}$")


def text(path: Path | str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    return text(f"/proc/{pid}/stat").rpartition(") ")[2][:1] not in ("", "Z", "X")


# ---- everything there is, whosever it is


def cgroups() -> set[str]:
    """The topmost group of every keeper below our own groups: elsewhere process numbers may mean
    something else."""
    own = {}
    for line in text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        own[controllers] = path
    found = set()
    for line in text("/proc/self/mountinfo").splitlines():
        words = line.split()
        kind, _, options = words[words.index("-") + 1 :][:3]
        if kind not in ("cgroup", "cgroup2"):
            continue
        names_of = "" if kind == "cgroup2" else _controllers(options, own)
        if names_of not in own:
            continue
        below = os.path.relpath(own[names_of], words[3]) if words[3] != "/" else own[names_of]
        for directory, names, _ in os.walk(os.path.normpath(words[4] + "/" + below.lstrip("/"))):
            ours = [name for name in names if name.startswith("vitrine-")]
            found |= {f"{directory}/{name}" for name in ours}
            names[:] = [name for name in names if name not in ours]
    return found


def _controllers(options: str, own: dict[str, str]) -> str | None:
    """How /proc/self/cgroup names the hierarchy with these mount options."""
    given = set(options.split(","))
    return next((name for name in own if name and set(name.split(",")) <= given), None)


def shared_files() -> set[str]:
    """Files outside of PLACE: where X servers have theirs."""
    places = (("/tmp/.X11-unix", "X*"), ("/tmp", ".X*-lock"))
    return {str(path) for where, pattern in places for path in Path(where).glob(pattern)}


# ---- what is the stage's, and left


def left_processes(place: Path) -> list[int]:
    """Those that were started with PLACE in their environment or on their command line, and those
    that log to a file there: the keeper's helpers have neither environment nor arguments."""
    mark = str(place).encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid() or not is_alive(int(entry)):
            continue
        with contextlib.suppress(OSError):
            started = Path(f"/proc/{entry}/environ").read_bytes()
            started += Path(f"/proc/{entry}/cmdline").read_bytes()
            started += log_of(int(entry)).encode()
            if mark in started and not is_ancestor(int(entry)):
                found.append(int(entry))
    return found


def log_of(pid: int) -> str:
    """Where its standard error goes to; "" if nobody may know."""
    try:
        return os.readlink(f"/proc/{pid}/fd/2")
    except OSError:
        return ""


def is_ancestor(pid: int) -> bool:
    """Whoever started this: `timeout`, with PLACE among its words."""
    above = os.getpid()
    while above > 1:
        above = int(text(f"/proc/{above}/stat").rpartition(") ")[2].split()[1])
        if above == pid:
            return True
    return False


def members(group: str) -> list[int]:
    return [
        int(pid)
        for directory, _, _ in os.walk(group)
        for pid in text(f"{directory}/cgroup.procs").split()
        if is_alive(int(pid))
    ]


def is_left(group: str, owner: int | None = None) -> bool:
    """A keeper's group after the test that named it has ended, or a server's with nobody inside.
    With an owner, which still runs: of those that tests named only its own."""
    name = os.path.basename(group)
    if NAMED_BY_DATA.match(name):
        return not members(group)
    tester = NAMED_BY_A_TEST.match(name)
    if tester is None:
        return False
    return int(tester[1]) == owner if owner else not is_alive(int(tester[1]))


def is_orphan(path: str) -> bool:
    """The lock of an X server that is gone, and a socket without a server and a listener."""
    number = re.sub(r"\D", "", os.path.basename(path))
    owner = text(f"/tmp/.X{number}-lock").strip()
    if owner.isdigit() and is_alive(int(owner)):
        return False
    return path.endswith("-lock") or not any(
        line.endswith(f" {path}") for line in text("/proc/net/unix").splitlines()
    )


def left_files(place: Path) -> list[Path]:
    return [
        path
        for path in place.iterdir()
        if path.name != NOTES and not path.name.startswith("pytest-of-")
    ]


def left_mounts(place: Path) -> list[str]:
    return [
        line.split()[4] for line in text("/proc/self/mountinfo").splitlines() if f"{place}/" in line
    ]


# ---- what is done about it


def end_process(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def remove_group(group: str) -> None:
    for pid in members(group):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    latest = time.monotonic() + PATIENCE
    while members(group) and time.monotonic() < latest:
        time.sleep(0.05)
    for directory, _, _ in os.walk(group, topdown=False):
        os.rmdir(directory)


def remove_file(path: Path | str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def unmount(path: str) -> None:
    os.spawnlp(os.P_WAIT, "umount", "umount", "--lazy", path)


def remove_place(place: Path) -> None:
    """Never through a mount: what is mounted there may be the build."""
    if not left_mounts(place):
        shutil.rmtree(place, ignore_errors=True)


def sweep(parent: Path) -> None:
    """What earlier runs left that were killed."""
    for old in parent.glob("vt-*-*"):
        owner = old.name.split("-")[1]
        with contextlib.suppress(OSError):  # another run may remove it, too
            if owner.isdigit() and not is_alive(int(owner)) and old.stat().st_uid == os.geteuid():
                remove_place(old)
    for group in cgroups():
        with contextlib.suppress(OSError):
            # A server that is just starting has nobody inside yet.
            is_young = time.time() - os.stat(group).st_mtime < STARTING
            if is_young and NAMED_BY_DATA.match(os.path.basename(group)):
                continue
            if is_left(group) and not members(group):
                remove_group(group)


def begin(place: Path) -> int:
    sweep(place.parent)
    remove_place(place)  # of a killed run
    place.mkdir()
    place.chmod(0o1777)
    before = {"cgroups": sorted(cgroups()), "files": sorted(shared_files())}
    (place / NOTES).write_text(json.dumps(before))
    return 0


def left_behind(place: Path, owner: int | None) -> list[tuple[str, Callable[[], None]]]:
    """What is left now: its name, and how it is removed."""
    before = {what: set(names) for what, names in json.loads((place / NOTES).read_text()).items()}
    found: list[tuple[str, Callable[[], None]]] = []
    for pid in left_processes(place):
        command = text(f"/proc/{pid}/cmdline").replace("\0", " ")[:120]
        found.append((f"process {pid} {command}", lambda pid=pid: end_process(pid)))
    for path in left_mounts(place):
        found.append((f"mount {path}", lambda path=path: unmount(path)))
    for group in sorted(cgroups() - before["cgroups"]):
        if is_left(group, owner):
            found.append((f"cgroup {group}", lambda group=group: remove_group(group)))
    for name in sorted(shared_files() - before["files"]):
        if is_orphan(name):
            found.append((f"file {name}", lambda name=name: remove_file(name)))
    for path in left_files(place):
        found.append((f"file {path}", lambda path=path: remove_file(path)))
    return found


def end(place: Path, patience: float, owner: int | None = None) -> list[str]:
    """The names of what was left, which is removed; PLACE goes too."""
    latest = time.monotonic() + patience
    while (left := left_behind(place, owner)) and time.monotonic() < latest:
        time.sleep(0.2)
    for _, remove in left:
        with contextlib.suppress(OSError):
            remove()
    remove_place(place)
    return [f"left behind, and removed now: {what}" for what, _ in left]


def new_place() -> Path:
    return Path("/tmp") / f"vt-{os.getpid()}-{os.urandom(3).hex()}"


# ---- the plugin


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--stage", help="the name of the stage; fails if it leaves something behind")


def pytest_configure(config: Any) -> None:
    if config.option.stage:
        config.stage_place = new_place()
        begin(config.stage_place)
        os.environ["TMPDIR"] = str(config.stage_place)
        tempfile.tempdir = None


def _finish(session: Any) -> Iterator[None]:
    """After all other plugins and fixtures have ended what is theirs."""
    yield
    place = getattr(session.config, "stage_place", None)
    if place is None:
        return
    left = end(place, PATIENCE, os.getpid())
    if left:
        print("", *left, sep="\n", file=sys.stderr, flush=True)
        session.exitstatus = LEFT_BEHIND


if pytest is not None:
    pytest_sessionfinish = pytest.hookimpl(hookwrapper=True, tryfirst=True)(_finish)


# ---- the program


def tell(left: list[str]) -> int:
    print(*left, sep="\n", end="\n" if left else "", file=sys.stderr)
    return 1 if left else 0


def run(command: list[str]) -> int:
    place = new_place()
    begin(place)
    status = 1
    try:
        status = subprocess.run(command, env={**os.environ, "TMPDIR": str(place)}).returncode
    finally:
        left = tell(end(place, PATIENCE))
    return status or left


def main(verb: str, *words: str) -> int:
    if verb == "run":
        return run(list(words))
    if verb == "begin":
        return begin(Path(words[0]))
    return tell(end(Path(words[0]), float(words[1]) if len(words) > 1 else PATIENCE))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
