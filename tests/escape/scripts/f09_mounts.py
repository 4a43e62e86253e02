# SPDX-License-Identifier: Apache-2.0
# F09: mounts, moves and unmounts
# old: EPERM
# new: ENOSYS
from tools import AT, call, tell

old = [
    call(165, b"none", b"/tmp", b"tmpfs", 0, 0),
    call(165, b"/proc", b"/tmp", 0, 4096, 0),
    call(165, 0, b"/", 0, 32 | 4096, 0),
    call(165, 0, b"/proc/sys", 0, 32 | 4096, 0),
    call(166, b"/proc/sys", 2),
    call(166, b"/proc/keys", 2),
    call(155, b"/tmp", b"/tmp"),
    call(161, b"/tmp"),
]
new = [
    call(430, b"tmpfs", 0),
    call(428, -100, b"/", 1),
    call(429, -100, b"/tmp", -100, b"/home", 0),
    call(431, -1, 6, 0, 0, 0),
    call(432, -1, 0, 0),
    call(433, -100, b"/", 0),
    call(442, -100, b"/", 0, AT, 32),
    call(457, AT, AT, 64, 0),
    call(458, AT, AT, 8, 0),
    call(467, -100, b"/", 1, AT, 32),
]
tell(old=old, new=new)
