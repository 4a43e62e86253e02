# SPDX-License-Identifier: Apache-2.0
# K02: makes and joins namespaces
# made: EPERM
# joined: EPERM
import os

from tools import call, tell, tried

FLAGS = (
    0x10000000,
    0x20000,
    0x20000000,
    0x40000000,
    0x8000000,
    0x4000000,
    0x2000000,
    0x80,
    0x7E020000,
)
made = [call(272, flag) for flag in FLAGS]
made += [call(56, flag | 17, 0, 0, 0, 0) for flag in FLAGS if flag != 0x80]
made += [call(56, flag | 17 | 1 << 40, 0, 0, 0, 0) for flag in FLAGS if flag != 0x80]
joined = []
for name in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
    fd = os.open(f"/proc/self/ns/{name}", os.O_RDONLY)
    joined.append(call(308, fd, 0))
    os.close(fd)
pidfd = os.pidfd_open(os.getpid())
joined.append(call(308, pidfd, 0x20000))
os.close(pidfd)
tried(os.close, -1)
tell(made=made, joined=joined)
