# SPDX-License-Identifier: Apache-2.0
"""What the hostile scripts share: raw system calls, and how to tell what came of them.

Copied into a session's home, so a script can import it.
"""

import ctypes
import errno
import json
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

# x86-64
NUMBERS = {
    "mincore": 27,
    "socket": 41,
    "clone": 56,
    "kill": 62,
    "ptrace": 101,
    "ioctl": 16,
    "mmap": 9,
    "mknod": 133,
    "personality": 135,
    "modify_ldt": 154,
    "pivot_root": 155,
    "prctl": 157,
    "arch_prctl": 158,
    "chroot": 161,
    "mount": 165,
    "umount2": 166,
    "capset": 126,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "unshare": 272,
    "splice": 275,
    "tee": 276,
    "vmsplice": 278,
    "perf_event_open": 298,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "seccomp": 317,
    "bpf": 321,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "cachestat": 451,
    "statmount": 457,
    "listmount": 458,
}


def raw(name, *arguments):
    """The name of the errno, or what the call returned."""
    ctypes.set_errno(0)
    numbers = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    number = NUMBERS[name] if isinstance(name, str) else name
    result = libc.syscall(ctypes.c_long(number), *numbers)
    return errno.errorcode[ctypes.get_errno()] if result == -1 else result


def attempt(act, *arguments):
    """The name of the errno that an os function fails with, or what it returned."""
    try:
        return act(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


def opened(path, flags=os.O_RDONLY):
    """As attempt(), but "opened" instead of a descriptor."""
    result = attempt(os.open, path, flags)
    if isinstance(result, int):
        os.close(result)
        return "opened"
    return result


def in_child(act):
    """What `act` returns (0 to 100) in a child, or the name of the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        status = 101
        try:
            status = act() or 0
        finally:
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return signal.Signals(-code).name if code < 0 else code


def report(**found):
    print(json.dumps(found))
