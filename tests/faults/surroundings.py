# SPDX-License-Identifier: Apache-2.0
"""Hosts that a keeper may meet: without user namespaces, with a masked /proc, a damaged image...

Each is made for one process only, between fork and exec or by a wrapper program; the machine itself
is never changed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import shlex
import struct
from collections.abc import Callable
from pathlib import Path

CLONE_NEWUSER = 0x10000000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
SYSCALLS = {
    "x86_64": {"unshare": 272, "clone3": 435, "landlock_create_ruleset": 444, "close_range": 436},
    "aarch64": {"unshare": 97, "clone3": 435, "landlock_create_ruleset": 444, "close_range": 436},
}[os.uname().machine]

Before = Callable[[], None]


def refusing(**calls: int) -> Before:
    """As under a seccomp profile: these system calls fail with these errors."""

    def change() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        steps = [(0x20, 0, 0, 0)]  # load the number
        for name, error in calls.items():
            steps += [(0x15, 0, 1, SYSCALLS[name]), (0x06, 0, 0, ERRNO | error)]
        steps.append((0x06, 0, 0, ALLOW))
        program = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *s) for s in steps))
        filter = struct.pack("@HxxxxxxQ", len(steps), ctypes.addressof(program))
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0) != 0:
            os._exit(99)

    return change


def inside_a_user_namespace(**limits: int) -> Before:
    """As in a rootless container: only the own ids are mapped; user.max_* as named."""

    def change() -> None:
        uid, gid = os.geteuid(), os.getegid()
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(4, 1, 0, 0, 0)  # dumpable again, or /proc/self is not ours
        if libc.unshare(CLONE_NEWUSER) != 0:
            os._exit(99)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        for kind, most in limits.items():
            Path(f"/proc/sys/user/max_{kind}_namespaces").write_text(str(most))

    return change


def limited(**limits: int) -> Before:
    """With resource limits, named as RLIMIT_*."""

    def change() -> None:
        for name, most in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))

    return change


def after(*commands: str) -> tuple[str, ...]:
    """A wrapper that first changes its own copy of the mounts; as root only."""
    script = " && ".join(("mount --make-rprivate /", *commands, 'exec "$@"'))
    return ("unshare", "--mount", "/bin/sh", "-c", script, "sh")


def damaged_copy(root: Path, at: Path, *damage: str) -> tuple[str, ...]:
    """Wrapper commands that show `root` at `at`, changed by shell commands that run in it."""
    work = shlex.quote(str(at)) + ".work"
    lower = shlex.quote(str(root))
    return (
        f"mkdir -p {work} && mount -t tmpfs none {work} && mkdir {work}/upper {work}/work",
        f"mount -t overlay overlay {shlex.quote(str(at))} "
        f"-o lowerdir={lower},upperdir={work}/upper,workdir={work}/work",
        *(f"(cd {shlex.quote(str(at))} && {one})" for one in damage),
    )


NO_NAMESPACES = {
    "user.max_user_namespaces is 0": inside_a_user_namespace(user=0),
    "a container's seccomp profile": refusing(clone3=errno.ENOSYS, unshare=errno.EPERM),
    "a hardened profile": refusing(clone3=errno.EPERM, unshare=errno.EPERM),
}
