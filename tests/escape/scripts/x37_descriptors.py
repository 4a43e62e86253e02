# SPDX-License-Identifier: Apache-2.0
# X37: sends the X server hundreds of descriptors
# sent: done|EPERM|EPIPE|ECONNRESET|ETOOMANYREFS|EAGAIN
# after: connected
import array
import os
import socket

from tools import tell, tried
from x11 import X

sent = []
for _ in range(8):
    one = X()
    a, b = socket.socketpair()
    pipe = os.pipe()
    fds = array.array("i", [a.fileno(), *pipe] * 60)
    one.socket.settimeout(2)
    for _ in range(8):
        message = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
        sent.append(tried(one.socket.sendmsg, [b"\x7f\0\1\0"], message))
    one.close()
    a.close(), b.close(), os.close(pipe[0]), os.close(pipe[1])
last = X()
tell(sent=sorted(set(sent)), after="connected" if last.sync() else "refused")
last.close()
