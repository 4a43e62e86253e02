# SPDX-License-Identifier: Apache-2.0
# N11: changes its own network
# changed: EPERM|EACCES|ENOSYS|EOPNOTSUPP
# interfaces: lo
import fcntl
import socket
import struct

from tools import tell, tried

one = socket.socket(type=socket.SOCK_DGRAM)
request = struct.pack("16sH14s", b"lo", 0, b"")
REQUESTS = (0x8914, 0x8916, 0x8922, 0x890B, 0x89A0, 0x8943, 0x8955, 0x89F0)
changed = [tried(fcntl.ioctl, one, number, request) for number in REQUESTS[:3]]
route = socket.socket(16, 3, 0)
# RTM_NEWLINK (16) and RTM_NEWROUTE (24), each with a request for an acknowledgement.
for kind, body in ((16, b"\0" * 16), (24, b"\0" * 12), (20, struct.pack("BBBBI", 2, 8, 0, 0, 1))):
    route.send(struct.pack("<IHHII", 16 + len(body), kind, 0x605, 1, 0) + body)
    error = struct.unpack_from("<i", route.recv(4096), 16)[0]
    changed.append({-1: "EPERM", -13: "EACCES", -95: "EOPNOTSUPP"}.get(error, str(error)))
changed.append(tried(one.setsockopt, socket.SOL_SOCKET, 25, b"eth0\0"))
changed.append(tried(one.setsockopt, socket.SOL_SOCKET, socket.SO_MARK, 1))
changed.append(tried(one.setsockopt, socket.SOL_SOCKET, 33, 1 << 20))
one.close()
route.close()
fine = {"ENODEV": "EPERM", "done": "done"}
tell(
    changed=[fine.get(c, c) for c in changed],
    interfaces=[name for _, name in socket.if_nameindex()],
)
