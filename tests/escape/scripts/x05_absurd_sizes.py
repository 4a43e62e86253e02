# SPDX-License-Identifier: Apache-2.0
# X05: windows of 65535 x 65535, pixmaps of 4 GiB, pictures beyond the screen, deep nests
# windows: done|error 2|error 11
# pixmaps: error 2|error 11
# beyond: error
# after: alive
import struct

from tools import tell
from x11 import X

one = X()
body = struct.pack("<IIhhHHHHII", one.id(), one.root, -32768, -32768, 65535, 65535, 0, 1, 0, 0)
windows = [one.verdict(1, 0, body), one.verdict(8, 0, body[:4])]
windows.append(one.verdict(12, 0, body[:4] + struct.pack("<HxxII", 12, 65535, 65535)))
pixmaps = [
    one.verdict(53, 24, struct.pack("<IIHH", one.id(), one.root, width, height))
    for width, height in ((65535, 65535), (0, 5), (32767, 65535))
]
beyond = [
    "error" if isinstance(one.pixels(None, *region), int) else "pixels"
    for region in ((5000, 0, 10, 10), (0, 0, 65535, 65535), (-1, -1, 10, 10))
]
parent = None
for _ in range(1000):
    parent = one.window(0, 0, 10, 10, parent=parent)
after = "alive" if one.sync() else "dead"
one.close()
tell(windows=windows, pixmaps=pixmaps, beyond=beyond, after=after)
