# SPDX-License-Identifier: Apache-2.0
"""Attacks on init, on the worker's neighbours and on its own limits."""

import ctypes
import os
import resource
import signal
import struct

from probes import attempt, opened, raw, report

space = ctypes.create_string_buffer(64)
AT = ctypes.addressof(space)


def kill_init():
    return {
        str(n): attempt(os.kill, 1, n) for n in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)
    }


def with_child(act):
    """Runs `act(pid)` while a child waits."""
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


def spy(pid):
    local = struct.pack("<QQ", AT, 8)
    return {
        "ptrace attach": raw("ptrace", 16, pid, 0, 0),
        "ptrace seize": raw("ptrace", 0x4206, pid, 0, 0),
        "read": raw("process_vm_readv", pid, local, 1, local, 1, 0),
        "write": raw("process_vm_writev", pid, local, 1, local, 1, 0),
        "kcmp": raw("kcmp", pid, os.getpid(), 2, 0, 0),
    }


def steal(pid):
    pidfd = raw("pidfd_open", pid, 0)
    if isinstance(pidfd, str):
        return pidfd
    return [raw("pidfd_getfd", pidfd, number, 0) for number in (0, 1, 1023)]


def raise_limits():
    found = {}
    for name in ("NOFILE", "NPROC", "CORE", "FSIZE", "MEMLOCK", "MSGQUEUE", "RTPRIO"):
        which = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(which)[1]
        try:
            resource.setrlimit(which, (hard + 1, hard + 1))
            found[name] = "raised"
        except (OSError, ValueError) as error:
            found[name] = type(error).__name__
    return found


def write_oom_score(value):
    file = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    try:
        os.write(file, value.encode())
    finally:
        os.close(file)
    return "lowered"


report(
    kill_init=kill_init(),
    init_alive=os.path.exists("/proc/self"),
    visible=sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
    own_pid=os.getpid(),
    parent=os.getppid(),
    trace_init=spy(1),
    trace_child=with_child(spy),
    memory_of_init=[opened(f"/proc/1/{name}", os.O_RDWR) for name in ("mem", "environ", "auxv")],
    steal_from_init=steal(1),
    steal_from_child=with_child(steal),
    raise_limits=raise_limits(),
    oom_score=open("/proc/self/oom_score_adj").read().strip(),
    lower_oom_score={v: attempt(write_oom_score, v) for v in ("-1000", "-1", "0", "999")},
    nice=attempt(os.setpriority, os.PRIO_PROCESS, 0, -20),
    realtime=attempt(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1)),
    kill_all=attempt(os.kill, -1, signal.SIGCONT),
)
