# SPDX-License-Identifier: Apache-2.0
# K25: asks its channel for the process at the other end, and goes through that
# asked: got|ENOPROTOOPT
# used: EINVAL|EPERM|EACCES|ENOTTY|ESRCH|EBADF
import os
import socket
import struct

from tools import AT, call, tell

one = socket.socket(fileno=os.dup(1023))
SO_PEERPIDFD, SO_PASSPIDFD = 77, 76
try:
    peer = struct.unpack("i", one.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD, 4))[0]
    asked = "got"
except OSError:
    peer, asked = -1, "ENOPROTOOPT"
used = [call(424, peer, number, 0, 0) for number in (0, 9, 19)]
used += [call(16, peer, 0xFF00 + kind, 0) for kind in range(1, 11)]  # its namespaces
used += [call(308, peer, 0x20000), call(438, peer, 0, 0), call(247, 3, peer, AT, 4 | 0x1000000, 0)]
used = [u.replace("ECHILD", "ESRCH") for u in used]
if peer >= 0:
    os.close(peer)
one.close()
tell(asked=asked, used=used)
