# SPDX-License-Identifier: Apache-2.0
"""More for the scripts, beside the probes of the engine's tests."""

import ctypes
import errno
import json
import os

from probes import libc

# A page whose address can be given to any call.
space = ctypes.create_string_buffer(1 << 16)
AT = ctypes.addressof(space)


def tell(**seen):
    """The last line a script prints is what the test reads."""
    print()
    print(json.dumps(seen))


def call(number, *arguments):
    """A system call by its number: the name of its errno, "done" for zero, else "got something"."""
    ctypes.set_errno(0)
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *values)
    if result == -1:
        return errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))
    return "done" if result == 0 else "got something"


def tried(act, *arguments):
    """The name of the errno an operation fails with, or "done"."""
    try:
        act(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    except ValueError:
        return "ValueError"
    return "done"


def wrote(path, data=b"1"):
    """Opens, writes, closes."""

    def act():
        fd = os.open(path, os.O_WRONLY)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)

    return tried(act)


def with_child(act):
    """Runs act(pid) while a child waits."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    try:
        return act(pid)
    finally:
        os.close(writer)
        os.waitpid(pid, 0)


def status(name):
    with open("/proc/self/status") as file:
        return next(line.split()[1] for line in file if line.startswith(name + ":"))
