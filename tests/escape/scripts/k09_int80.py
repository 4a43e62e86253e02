# SPDX-License-Identifier: Apache-2.0
# K09: 32-bit system calls from 64-bit code
# ended: SIGSYS
import ctypes
import mmap
import struct

from probes import in_child
from tools import AT, tell


def run(number, first):
    code = b"\x53\xb8" + struct.pack("<I", number) + b"\xbb" + struct.pack("<I", first)
    code += b"\xb9" + struct.pack("<I", AT & 0xFFFFFFFF) + b"\xcd\x80\x5b\xc3"

    def act():
        page = mmap.mmap(-1, 4096, prot=7)
        page.write(code)
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        return 0

    return in_child(act)


tell(ended=[run(number, 1) for number in (20, 102, 359, 120, 21, 5, 425)])
