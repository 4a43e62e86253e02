# SPDX-License-Identifier: Apache-2.0
# F35: asks openat2 to leave a directory it is kept in
# kept: EXDEV
import os
import struct

from tools import call, tell

BENEATH, IN_ROOT = 8, 16
home = os.open("/home/sandbox", os.O_PATH)
how = struct.pack("<QQQ", os.O_RDONLY, 0, BENEATH)
kept = [call(437, home, path, how, 24) for path in (b"../../etc/passwd", b"/etc/passwd")]
os.close(home)
tell(kept=kept)
