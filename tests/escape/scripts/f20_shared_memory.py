# SPDX-License-Identifier: Apache-2.0
# F20: fills /dev/shm and looks for others' segments
# full: ENOSPC|EFBIG
# others: nothing
import errno
import os
import signal

from tools import tell

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
others = os.listdir("/dev/shm")
full = "never"
try:
    for number in range(3):
        fd = os.open(f"/dev/shm/{number}", os.O_CREAT | os.O_WRONLY)
        os.posix_fallocate(fd, 0, 200 << 20)
except OSError as error:
    full = errno.errorcode[error.errno]
for name in os.listdir("/dev/shm"):
    os.remove(f"/dev/shm/{name}")
tell(full=full, others=others)
