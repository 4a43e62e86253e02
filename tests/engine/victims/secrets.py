# SPDX-License-Identifier: Apache-2.0
"""Looks for anything of the host: in the environment, in /proc, in the worker's own memory."""

import os
import platform
import pwd
import re
import socket

from probes import report

# Written so that the patterns do not match themselves: each comes with one letter in brackets.
PATTERNS = [pattern.encode() for pattern in os.environ.pop("PATTERNS").split("\n")]


def search_memory():
    """Which patterns are found where in this process's memory, this script's own lines aside."""
    found = {}
    with open("/proc/self/maps") as file:
        regions = [line.split(maxsplit=5) for line in file]
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    for fields in regions:
        if not fields[1].startswith("r") or fields[-1].strip() in ("[vvar]", "[vsyscall]"):
            continue
        start, end = (int(part, 16) for part in fields[0].split("-"))
        for at in range(start, end, 1 << 22):
            try:
                data = os.pread(memory, min(end - at, 1 << 22) + 256, at)
            except OSError:
                continue
            for pattern in PATTERNS:
                hit = re.search(pattern, data)
                if hit:
                    where = fields[5].strip() if len(fields) > 5 else "anonymous"
                    found.setdefault(where, []).append(data[hit.start() : hit.end() + 40].hex())
    return found


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("latin-1")
    except OSError as error:
        return error.strerror


everywhere = {
    f"{pid}/{name}": read(f"/proc/{pid}/{name}")
    for pid in os.listdir("/proc")
    if pid.isdigit()
    for name in ("environ", "cmdline", "mountinfo", "cgroup", "maps", "comm")
}
report(
    memory=search_memory(),
    environment=dict(os.environ),
    processes=everywhere,
    descriptors=sorted(int(n) for n in os.listdir("/proc/self/fd") if n != "3"),
    hostname=[socket.gethostname(), platform.node(), read("/proc/sys/kernel/hostname").strip()],
    users=sorted(entry.pw_name for entry in pwd.getpwall()),
    ids=[os.getuid(), os.getgid(), os.getgroups(), os.getlogin() if os.isatty(0) else None],
    mounts=read("/proc/self/mountinfo"),
    groups=read("/proc/self/cgroup").splitlines(),
    kernel_command_line=read("/proc/cmdline"),
    directory=os.getcwd(),
    listing=sorted(os.listdir("/")),
    masked={
        name: read(f"/proc/{name}")
        for name in ("keys", "kallsyms", "timer_list", "kcore", "kmsg", "config.gz", "kpagecount")
    },
)
