# SPDX-License-Identifier: Apache-2.0
# K01: io_uring
# made: EPERM
from tools import AT, call, tell

tell(
    made=[
        call(425, 8, AT),
        call(426, -1, 1, 1, 0, 0, 0),
        call(427, -1, 0, AT, 1),
        call(427, -1, 13, AT, 1),
    ]
)
