# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of a server's processes: who they are, their time and their memory."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from served import Server, family

TICKS = os.sysconf("SC_CLK_TCK")


def named(server: Server, name: str) -> list[int]:
    """Pids of the server's processes of that name."""
    found = []
    for pid, _ in family(server.process.pid):
        with contextlib.suppress(OSError):
            first = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
            if os.path.basename(first.decode(errors="replace")) == name:
                found.append(pid)
    return sorted(found)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def pss_mib(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(text.partition("\nPss:")[2].split()[0]) / 1024


def cgroup_mib(pid: int) -> float | None:
    """What is charged to the process' memory cgroup, page cache included; v1 or v2."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        kind = "memory" if "memory" in controllers.split(",") else ""
        if not kind and controllers:
            continue
        for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
            for name in ("memory.current", "memory.usage_in_bytes"):
                with contextlib.suppress(OSError, ValueError):
                    return int(Path(f"{root}/{kind}/{path}/{name}").read_text()) / 2**20
    return None
