# SPDX-License-Identifier: Apache-2.0
# K19: maps page zero, changes segments and ports
# done: EPERM|EACCES|EINVAL|ENODEV|EIO|EOPNOTSUPP
from tools import AT, call, tell

tell(
    done=[
        call(9, 0, 4096, 3, 0x32, -1, 0),
        call(154, 1, AT, 16),
        call(154, 0, AT, 16),
        call(172, 3),
        call(173, 0x80, 1, 1),
        call(158, 0x1002, 1 << 63),
        call(157, 35, 1, AT, 0, 0),
        call(157, 35, 14, AT, 64, 0),
    ]
)
