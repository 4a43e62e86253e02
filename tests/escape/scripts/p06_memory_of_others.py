# SPDX-License-Identifier: Apache-2.0
# P06: traces init and a child, and reads their memory
# tried: EPERM
# files: ENOENT|EACCES|EPERM
import os
import struct

from probes import opened
from tools import AT, call, tell, with_child

vector = struct.pack("<QQ", AT, 8)


def spy(pid):
    return [
        call(101, 16, pid, 0, 0),
        call(101, 0x4206, pid, 0, 0),
        call(310, pid, vector, 1, vector, 1, 0),
        call(311, pid, vector, 1, vector, 1, 0),
        call(312, pid, os.getpid(), 2, 0, 0),
        call(440, -1, vector, 1, 4, 0),
    ]


tell(
    tried=[*spy(1), *with_child(spy), call(101, 0, 0, 0, 0)],
    files=[opened(f"/proc/1/{n}", os.O_RDWR) for n in ("mem", "clear_refs", "oom_score_adj")],
)
