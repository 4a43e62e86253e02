# SPDX-License-Identifier: Apache-2.0
# K05: bpf, perf events, userfaultfd
# made: EPERM
from tools import AT, call, tell

tell(
    made=[
        *[call(321, command, AT, 128) for command in range(0, 36, 5)],
        call(298, AT, 0, -1, -1, 0),
        call(323, 0),
        call(323, 1),
        call(300, 0, 0),
        call(301, -1, 1, 1, -100, b"/"),
    ]
)
