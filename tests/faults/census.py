# SPDX-License-Identifier: Apache-2.0
"""Counts everything a keeper has made: processes, descriptors, mounts, namespaces, cgroups, files.

A process belongs to a keeper if it descends from it, sits in one of its cgroups, or lives in a user
namespace below the keeper's outer one. The last holds for every session process whatever it does to
its parent or its cgroup, also after the keeper is gone.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from waiting import until, within  # noqa: F401

NS_GET_PARENT = 0xB702
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
PF_EXITING = 0x4
MAX_DEPTH = 33  # the kernel nests user namespaces 32 deep

_libc = ctypes.CDLL(None, use_errno=True)


def _text(path: str) -> str:
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _entries(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def pids() -> list[int]:
    return [int(name) for name in _entries("/proc") if name.isdigit()]


def state(pid: int) -> str:
    """R, S, D, T, Z...; "" when there is no such process."""
    return _text(f"/proc/{pid}/stat").rpartition(")")[2].strip()[:1]


def alive(pid: int) -> bool:
    """Whether it may ever run again. A dead keeper's children wait for the host's pid 1 to reap
    them, and pid 1 of their namespace waits, killed, for that."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return bool(fields) and fields[0] not in "ZX" and not int(fields[6]) & PF_EXITING


def parent(pid: int) -> int:
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def namespace(pid: int, kind: str) -> str:
    return _link(f"/proc/{pid}/ns/{kind}")


def inner_pid(pid: int) -> int:
    """The number a process has in its own pid namespace."""
    found = re.search(r"^NSpid:\s+(.*)$", _text(f"/proc/{pid}/status"), re.MULTILINE)
    return int(found.group(1).split()[-1]) if found else 0


def cpu_seconds(pid: int) -> float:
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def rss_kib(pid: int) -> int:
    found = re.search(r"^VmRSS:\s+(\d+) kB", _text(f"/proc/{pid}/status"), re.MULTILINE)
    return int(found.group(1)) if found else 0


def private_kib(pid: int) -> int:
    """Memory that is its own: anonymous, so neither page cache nor shared with a child."""
    return sum(
        int(size) for size in re.findall(r"Anonymous:\s+(\d+)", _text(f"/proc/{pid}/smaps_rollup"))
    )


def user_namespaces_above(pid: int) -> list[str]:
    """The user namespace of a process and all that it is nested in, as far as we may look."""
    try:
        fd = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
    except OSError:
        return []
    found = []
    for _ in range(MAX_DEPTH):
        found.append(f"user:[{os.fstat(fd).st_ino}]")
        above = _libc.ioctl(fd, NS_GET_PARENT)
        os.close(fd)
        if above < 0:
            return found
        fd = above
    os.close(fd)
    return found


def cgroup_directories(name: str) -> list[Path]:
    """vitrine-<name> and everything below it, in every hierarchy."""
    found = []
    for mount in _text("/proc/self/mountinfo").splitlines():
        words = mount.split()
        if words[words.index("-") + 1] not in ("cgroup", "cgroup2"):
            continue
        for directory, names, _ in os.walk(words[4]):
            if os.path.basename(directory) == f"vitrine-{name}":
                found.append(Path(directory))
                found += [Path(d, n) for d, ns, _ in os.walk(directory) for n in ns]
                names.clear()
            elif any(n.startswith("vitrine-") for n in Path(directory).parts):
                names.clear()  # another keeper's
    return found


def members(groups: list[Path]) -> set[int]:
    return {int(pid) for group in groups for pid in _text(f"{group}/cgroup.procs").split()}


def belonging(keeper: int, name: str, outer: str) -> set[int]:
    """Every process of the keeper; `outer` names its outer user namespace ("" = not known)."""
    everybody = pids()
    parents = {pid: parent(pid) for pid in everybody}
    found = {keeper} if keeper in parents else set()
    grown = True
    while grown:
        more = {pid for pid, above in parents.items() if above in found} - found
        found |= more
        grown = bool(more)
    found |= members(cgroup_directories(name))
    if outer:
        own = namespace(os.getpid(), "user")
        for pid in everybody:
            mine = namespace(pid, "user")
            if mine not in (own, "") and outer in user_namespaces_above(pid):
                found.add(pid)
    return found


def _kind(target: str) -> str:
    """A descriptor without its number: socket:[123] and socket:[456] are the same kind of thing."""
    return re.sub(r"(?<=/s)\d+|\d{2,}", "#", target)  # also of a session's cgroup


def descriptors(pid: int) -> Counter[str]:
    return Counter(
        _kind(target)
        for fd in _entries(f"/proc/{pid}/fd")
        if (target := _link(f"/proc/{pid}/fd/{fd}"))
    )


def mounts(pid: int | str) -> Counter[str]:
    """Mount points with their types; the numbers of a mount change, what is mounted does not."""
    lines = []
    for line in _text(f"/proc/{pid}/mountinfo").splitlines():
        words = line.split()
        lines.append(f"{words[4]} {words[words.index('-') + 1]}")
    return Counter(lines)


@dataclass
class Census:
    """What was there at one moment. `difference()` of two of them is what is left, or missing."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    rss_kib: int = 0
    private_kib: int = 0

    def difference(self, later: Census) -> list[str]:
        lines = []
        for what in sorted({*self.counts, *later.counts}):
            before, after = self.counts.get(what, Counter()), later.counts.get(what, Counter())
            for item in sorted({*before, *after}):
                if before[item] != after[item]:
                    lines.append(f"{what}: {item}: {before[item]} -> {after[item]}")
        return lines


@dataclass
class Roles:
    """Who is who among a keeper's processes, as `info` tells."""

    keeper: int
    builder: int = -1
    foundation: int = -1
    zygotes: dict[str, int] = field(default_factory=dict)

    def name(self, pid: int) -> str:
        if pid == self.keeper:
            return "keeper"
        if pid == self.builder:
            return "builder"
        if pid == self.foundation:
            return "foundation"
        for variant, zygote in self.zygotes.items():
            if pid == zygote:
                return f"zygote {variant}"
        return "init" if inner_pid(pid) == 1 else "worker"


def take(
    roles: Roles, name: str, outer: str, directories: list[Path], descriptors_of: bool = True
) -> Census:
    """`directories`: where files may be left. Without descriptors_of only the cheap things."""
    census = Census(rss_kib=rss_kib(roles.keeper), private_kib=private_kib(roles.keeper))
    everybody = belonging(roles.keeper, name, outer)
    census.counts["processes"] = Counter(
        roles.name(pid) + ("" if alive(pid) else ", dead and not reaped") for pid in everybody
    )
    groups = cgroup_directories(name)
    census.counts["cgroups"] = Counter(re.sub(r"/s\d+", "/s#", str(group)) for group in groups)
    # The builder stays in the network namespace of the last shell it made, dead or alive.
    kinds = {
        kind: {namespace(pid, kind) for pid in everybody if kind != "net" or pid != roles.builder}
        for kind in NAMESPACES
    }
    census.counts["namespaces"] = Counter(
        {kind: len(found - {""}) for kind, found in kinds.items()}
    )
    census.counts["files"] = Counter(
        str(Path(where, name))
        for directory in directories
        for where, _, names in os.walk(directory)
        for name in names
    )
    if not descriptors_of:
        return census
    census.counts["mounts of the host"] = mounts("self")
    trusted = {roles.keeper, roles.builder, roles.foundation, *roles.zygotes.values()}
    for pid in sorted(trusted & everybody):
        role = roles.name(pid)
        census.counts[f"descriptors of the {role}"] = descriptors(pid)
        census.counts[f"mounts of the {role}"] = mounts(pid)
    # Objects that live on in descriptors alone.
    held = Counter()
    for pid in everybody:
        for fd in _entries(f"/proc/{pid}/fd"):
            target = _link(f"/proc/{pid}/fd/{fd}")
            if "memfd:" in target or re.match(r"(net|mnt|pid|user|ipc|uts|cgroup):\[", target):
                held[f"{roles.name(pid)} {_kind(target)}"] += 1
    census.counts["held by descriptors"] = held
    return census
