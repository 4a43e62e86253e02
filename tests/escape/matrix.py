# SPDX-License-Identifier: Apache-2.0
"""Runs in a session: every system call number, with arguments that do no harm.

Prints one JSON object: number -> what came of it with all arguments 0, and with all of them -1.
ALLOWED, which the test puts before, names those that need a child of their own each.
"""

import ctypes
import errno
import json
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X32 = 0x40000000
NUMBERS = [*range(600), 1000, 4096, -1, -39, 39 | X32, 41 | X32, 520 | X32, 0x7FFFFFFF]
# These two return into a frame that is no longer there.
NEVER = {15: "not called", 58: "not called"}
LINE = 64


def attempt(number, argument):
    own = os.getpid()
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(argument)] * 6)
    if os.getpid() != own:
        os._exit(0)  # the call made a process
    error = ctypes.get_errno()
    return errno.errorcode.get(error, str(error)) if result == -1 else "ok"


def outcomes(tries):
    """As many of them as one child comes through, the one it does not included."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for one in tries:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            os.write(writer, attempt(*one).encode().ljust(LINE))
        os._exit(0)
    os.close(writer)
    said = []
    while len(said) < len(tries) and (line := os.read(reader, LINE)):
        said.append(line.decode().strip())
    os.close(reader)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if len(said) < len(tries):
        names = {-signal.SIGALRM: "waits"}
        said.append(names.get(code) or (signal.Signals(-code).name if code < 0 else f"exit {code}"))
    return said


found = {number: [] for number in NUMBERS}
alone, together = [], []
for number in NUMBERS:
    if number in NEVER:
        found[number] = [NEVER[number]] * 2
        continue
    for argument in (0, -1):
        (alone if number in ALLOWED else together).append((number, argument))  # noqa: F821
for one in alone:
    found[one[0]] += outcomes([one])
while together:
    some = outcomes(together)
    for (number, _), said in zip(together, some, strict=False):
        found[number].append(said)
    together = together[len(some) :]
print(json.dumps(found))
