# SPDX-License-Identifier: Apache-2.0
"""Who lives on this machine, and what a keeper that was killed left in the cgroup tree."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def processes() -> dict[tuple[int, int], int]:
    """Who lives: (pid, time of birth) to the parent's pid. Zombies are not alive."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if fields[0] not in "ZX":
            found[int(entry), int(fields[19])] = int(fields[1])
    return found


def family(pid: int) -> set[tuple[int, int]]:
    """The process and all its descendants."""
    known = processes()
    members = {pid}
    while more := {one for (one, _), parent in known.items() if parent in members} - members:
        members |= more
    return {key for key in known if key[0] in members}


def remove_cgroups(name: str) -> bool:
    """What the next keeper of that name would remove, where none is to come. False while somebody
    is still ending in there."""
    # os.walk passes over what other keepers remove meanwhile; glob does not.
    roots = [
        Path(parent, "vitrine-" + name)
        for parent, children, _ in os.walk("/sys/fs/cgroup")
        if "vitrine-" + name in children
    ]
    for root in roots:
        for directory, _, _ in os.walk(root, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)
    return not any(root.exists() for root in roots)
