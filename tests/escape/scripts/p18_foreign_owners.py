# SPDX-License-Identifier: Apache-2.0
# P18: sends signals by way of descriptors and asks for them from the terminal
# sent: ESRCH|EPERM|EACCES|ENOENT|EBADF|ENOTTY
import fcntl
import os
import struct

from tools import call, tell, tried

reader, writer = os.pipe()
F_SETOWN, F_SETOWN_EX = 8, 15
sent = [
    tried(fcntl.fcntl, reader, F_SETOWN, 99999),
    tried(fcntl.fcntl, reader, F_SETOWN_EX, struct.pack("ii", 1, 99999)),
    call(129, 99999, 9, b"\0" * 128),
    call(424, os.open("/proc", os.O_RDONLY), 9, 0, 0),
    tried(os.tcsetpgrp, 0, 1),
]
os.close(reader)
os.close(writer)
tell(sent=sent)
