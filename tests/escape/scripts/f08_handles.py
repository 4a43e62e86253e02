# SPDX-License-Identifier: Apache-2.0
# F08: opens inodes by handle
# opened: EPERM
import struct

from tools import AT, call, tell

handle = struct.pack("<IIII", 8, 1, 2, 0)
tell(opened=[call(304, -100, handle, 0), call(303, -100, b"/", AT, AT, 0)])
