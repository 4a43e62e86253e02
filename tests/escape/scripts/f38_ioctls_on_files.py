# SPDX-License-Identifier: Apache-2.0
# F38: sets inode flags, verity and encryption on the image
# done: ENOTTY|EROFS|EPERM|EACCES|EOPNOTSUPP|EINVAL|EBADF
import os

from tools import AT, call, tell

fd = os.open("/etc/passwd", os.O_RDONLY)
REQUESTS = (0x40086602, 0x401C5820, 0x40806685, 0x800C6613, 0x40049409, 0xC0185879, 0xC0045877)
tell(done=[call(16, fd, request, AT) for request in REQUESTS])
