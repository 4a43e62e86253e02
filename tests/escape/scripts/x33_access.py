# SPDX-License-Identifier: Apache-2.0
# X33: opens its server to all hosts: nobody else has a way to it
# asked: done|error 10
# listens: nothing
import socket
import struct

from tools import tell
from x11 import X

one = X()
asked = [
    one.verdict(109, 0, struct.pack("<BxH", 0, 4) + socket.inet_aton("127.0.0.1")),
    one.verdict(111, 0, b""),
]
listens = []
with open("/proc/net/tcp") as tcp, open("/proc/net/tcp6") as tcp6:
    rows = [line.split() for line in [*tcp, *tcp6] if ":" in line.split()[1]]
listens = [row[1] for row in rows if row[3] == "0A"]
one.verdict(109, 1, struct.pack("<BxH", 0, 4) + socket.inet_aton("127.0.0.1"))
one.verdict(111, 1, b"")
one.close()
tell(asked=asked, listens=listens)
