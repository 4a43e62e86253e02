# SPDX-License-Identifier: Apache-2.0
# K15: answers the filters of others, or loosens its own
# listener: EPERM
# loosened: EPERM
import ctypes
import struct

from probes import in_child, raw
from tools import AT, call, tell

allow = ctypes.create_string_buffer(struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000))
program = struct.pack("<H6xQ", 1, ctypes.addressof(allow))


def loosened():
    if raw("seccomp", 1, 0, program) != 0:
        return 50
    return 0 if raw("unshare", 0x10000000) == "EPERM" else 51


tell(
    listener=[call(317, 1, 8, AT), call(317, 1, 8 | 1, program), call(317, 1, 8 | 16, program)],
    loosened="EPERM" if in_child(loosened) == 0 else "loosened",
)
