# SPDX-License-Identifier: Apache-2.0
"""A zygote for tests: warms up once, then forks a worker for every request on its socket.

Run as `python zygote_process.py SOCKET_FD VARIANT`. A request carries six descriptors: requests,
frames, stdout, stderr, one on which the worker's pid is written, and one for orders to end a loop.
"""

from __future__ import annotations

import os
import signal
import socket
import sys

import fake_native

sys.modules["_vitrine"] = fake_native


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    os.environ["MPLBACKEND"] = "module://vitrine_runtime.mpl_backend"
    fake_native.attach(control.fileno(), control.fileno())
    from vitrine_runtime import worker, zygote

    zygote.warm(sys.argv[2])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    control.send(b"warm")
    while True:
        message, fds, _, _ = socket.recv_fds(control, 1024, 8)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            break
        for fd in fds:
            os.close(fd)
    become_worker(control, fds, message == b"rehearse")
    worker.main()


def become_worker(control: socket.socket, fds: list[int], rehearse: bool) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    control.close()
    requests, frames, out, err, pid, orders = fds
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (err, 2)):
        os.dup2(source, target)
        os.close(source)
    os.write(pid, b"%d" % os.getpid())
    os.close(pid)
    worker = sys.modules["vitrine_runtime.worker"]
    fake_native.attach(requests, frames, orders)
    worker.session().channel.attach(fake_native)
    if rehearse:
        worker.rehearse()


main()
