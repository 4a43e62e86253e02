# SPDX-License-Identifier: Apache-2.0
# K20: becomes root, or gets a capability back
# became: EPERM|EINVAL
# has: 0000000000000000
import os
import struct

from tools import call, status, tell, tried

header = struct.pack("<II", 0x20080522, 0)
every = struct.pack("<IIIIII", *([0xFFFFFFFF] * 6))
became = [
    tried(os.setuid, 0),
    tried(os.setgid, 0),
    tried(os.setresuid, 0, 0, 0),
    tried(os.setreuid, -1, 0),
    tried(os.setgroups, [0]),
    tried(os.setgroups, []),
    tried(os.setuid, 65534),
    call(126, header, every),
    *[call(157, 47, 2, capability, 0, 0) for capability in (0, 1, 12, 21, 38, 40)],
    call(157, 28, 0, 0, 0, 0),
    call(157, 8, 1, 0, 0, 0),
    call(157, 38, 0, 0, 0, 0),
    call(157, 24, 0, 0, 0, 0),
]
tell(
    became=became, has=[status(name) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]
)
