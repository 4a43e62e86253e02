# SPDX-License-Identifier: Apache-2.0
# K21: modules, reboot, clocks, swap, names of the host
# done: EPERM
# flushed: done
from tools import AT, call, tell

done = [
    call(175, AT, 64, b""),
    call(313, -1, b"", 0),
    call(176, b"x", 0),
    call(246, 0, 0, 0, 0),
    call(320, -1, -1, 0, 0, 0),
    call(169, 0xFEE1DEAD, 672274793, 0x1234567, 0),
    call(164, AT, 0),
    call(227, 0, AT),
    call(159, AT),
    call(305, 0, AT),
    call(167, b"/tmp/x", 0),
    call(168, b"/tmp/x"),
    call(170, b"x", 1),
    call(171, b"x", 1),
    call(163, b"/tmp/x"),
    call(103, 3, AT, 10),
    call(103, 10, 0, 0),
    call(153),
    call(179, 0, 0, 0, AT),
    call(443, -1, 0, 0, AT),
    call(251, 1, 0, 0),
    call(216, AT, 4096, 0, 0, 0),
]
tell(done=done, flushed=[call(162), call(306, 0)])
