# SPDX-License-Identifier: Apache-2.0
"""Runs a command under what `docker run`, without options, leaves to a container's root.

    python3 confine.py [--init] COMMAND...

Own mount and pid namespaces, cgroups that cannot be written, Docker's fourteen capabilities, and a
filter that refuses what its default profile refuses (the calls that matter here). The command is
pid 1, as an image's entry point is; with --init it is pid 2, and its end does not end the others.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
NAMESPACES = 0x7E020000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 1 << 14, 1 << 18
PR_CAPBSET_DROP, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 24, 22, 2
EPERM, ENOSYS = 1, 38

# chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot
# mknod audit_write setfcap
KEPT = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}

# Of x86-64; what moby's default profile refuses without CAP_SYS_ADMIN, SYS_PTRACE and the like.
CLONE, CLONE3 = 56, 435
REFUSED = {
    "pivot_root": 155, "acct": 163, "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169,
    "sethostname": 170, "setdomainname": 171, "init_module": 175, "quotactl": 179, "add_key": 248,
    "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298, "fanotify_init": 300,
    "open_by_handle_at": 304, "setns": 308, "kcmp": 312, "bpf": 321, "userfaultfd": 323,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
    "fspick": 433, "mount_setattr": 442, "syslog": 103, "ioperm": 173, "iopl": 172,
}  # fmt: skip

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, doing: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), doing)


def mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int) -> None:
    check(libc.mount(source, target, kind, ctypes.c_ulong(flags), None), f"mount {target!r}")


def drop_capabilities() -> None:
    last = int(open("/proc/sys/kernel/cap_last_cap").read())
    for capability in set(range(last + 1)) - KEPT:
        check(libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0), "capability")
    bits = sum(1 << one for one in KEPT)
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    data = ctypes.create_string_buffer(struct.pack("6I", bits, bits, 0, 0, 0, 0))
    check(libc.syscall(126, header, data), "capset")


def instruction(code: int, yes: int, no: int, value: int) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def install_filter() -> None:
    load, equal, any_bit, answer = 0x20, 0x15, 0x45, 0x06
    allow, fail = 0x7FFF0000, 0x00050000
    program = [
        instruction(load, 0, 0, 0),
        instruction(equal, 0, 3, CLONE),
        instruction(load, 0, 0, 16),  # its flags
        instruction(any_bit, 0, 1, NAMESPACES),
        instruction(answer, 0, 0, fail | EPERM),
        instruction(load, 0, 0, 0),
        instruction(equal, 0, 1, CLONE3),
        instruction(answer, 0, 0, fail | ENOSYS),
    ]
    for number in REFUSED.values():
        program += [instruction(equal, 0, 1, number), instruction(answer, 0, 0, fail | EPERM)]
    program.append(instruction(answer, 0, 0, allow))
    code = ctypes.create_string_buffer(b"".join(program))
    fprog = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    )
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, fprog, 0, 0), "seccomp")


def be_init(child: int) -> None:
    """Ends with its standard input; reaps whatever comes to it."""
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    os._exit(0)


def main() -> None:
    assert platform.machine() == "x86_64", "the numbers above are x86-64's"
    words = sys.argv[1:]
    as_init = words[0] == "--init"
    command = words[1:] if as_init else words
    check(libc.unshare(CLONE_NEWNS | CLONE_NEWPID), "unshare")
    child = os.fork()
    if child:
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, lambda number, _: os.kill(child, number))
        while True:
            try:
                _, status = os.waitpid(child, 0)
                break
            except InterruptedError:
                continue
        sys.exit(os.waitstatus_to_exitcode(status) & 0xFF)
    libc.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG: nothing outlives the test
    mount(None, b"/", None, MS_REC | MS_PRIVATE)
    mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount(b"tmpfs", b"/sys/fs/cgroup", b"tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    install_filter()
    drop_capabilities()
    if as_init:
        inner = os.fork()
        if inner:
            be_init(inner)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
