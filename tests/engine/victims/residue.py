# SPDX-License-Identifier: Apache-2.0
"""Leaves as much behind as a session can, or (LOOK=1) looks for what another one left."""

import ctypes
import glob
import os
import resource
import signal
import socket
import subprocess

from probes import attempt, libc, report

KEY = 0x5EED
PORT = 4711
PLACES = ("/tmp/left", "/home/sandbox/left", "/dev/shm/left")
libc.shmat.restype = ctypes.c_void_p


def lines(path):
    with open(path) as file:
        return file.read().splitlines()[1:]


def daemonize():
    """Daemons in sessions of their own that ignore all signals and hold files, sockets and ptys."""
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            for number in range(1, 65):
                if number not in (signal.SIGKILL, signal.SIGSTOP):
                    attempt(signal.signal, number, signal.SIG_IGN)
            if os.fork() == 0:
                libc.prctl(15, b"daemonized")
                libc.prctl(1, 0)  # no PR_SET_PDEATHSIG
                os.close(1)
                os.close(2)
                while True:
                    signal.pause()
            os._exit(0)


def leave():
    for path in PLACES:
        with open(path, "w") as file:
            file.write("left behind")
    os.mkdir("/tmp/directory")
    os.mkfifo("/tmp/fifo")
    segment = libc.shmget(KEY, 4096, 0o1666)
    semaphores = libc.semget(KEY, 1, 0o1666)
    keep = [socket.create_server(("127.0.0.1", PORT)), socket.socket(socket.AF_UNIX)]
    keep[1].bind("\0left")
    keep[1].listen()
    client = socket.create_connection(("127.0.0.1", PORT))
    server, _ = keep[0].accept()
    client.close()  # this side waits a minute for late packets
    server.close()
    keep.append(os.openpty())
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    resource.setrlimit(resource.RLIMIT_NPROC, (32, 32))
    os.umask(0)
    os.nice(5)
    os.environ["LEFT"] = "behind"
    daemonize()
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    return {"shm": segment >= 0, "semaphores": semaphores >= 0, "kept": len(keep)}


def look():
    with socket.socket(socket.AF_UNIX) as one:
        abstract = attempt(one.connect, "\0left")
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        bound = attempt(one.bind, ("127.0.0.1", PORT))
    status = open("/proc/self/status").read()
    return {
        "files": [name for pattern in ("/tmp/*", "/home/sandbox/*", "/dev/shm/*")
                  for name in glob.glob(pattern) if not name.endswith("/probes.py")],
        "shm": libc.shmget(KEY, 0, 0),
        "semaphores": libc.semget(KEY, 0, 0),
        "ipc": lines("/proc/sysvipc/shm") + lines("/proc/sysvipc/sem") + lines("/proc/sysvipc/msg"),
        "processes": [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()],
        "abstract": abstract,
        "bound": bound,
        "tcp": lines("/proc/net/tcp"),
        # Every shell has one for its display; no two have the same number.
        "unix": [one for one in lines("/proc/net/unix") if not one.endswith("/tmp/.X11-unix/X99")],
        "ptys": [name for name in os.listdir("/dev/pts") if name != "ptmx"],
        "limits": [resource.getrlimit(getattr(resource, f"RLIMIT_{n}"))[1]
                   for n in ("NOFILE", "NPROC")],
        "umask": os.umask(0o22),
        "nice": os.nice(0),
        "environment": os.environ.get("LEFT"),
        "used_disk": os.statvfs("/tmp").f_blocks - os.statvfs("/tmp").f_bfree,
        "groups": [line for line in status.splitlines() if line.startswith("Groups")],
    }  # fmt: skip


report(**(look() if os.environ.get("LOOK") else leave()))
