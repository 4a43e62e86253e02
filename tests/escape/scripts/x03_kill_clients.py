# SPDX-License-Identifier: Apache-2.0
# X03: kills every client that it can name, by every number and by every window
# itself: alive
# again: connected
import struct

from tools import tell
from x11 import X

one = X()
mine = one.base >> 21
one.verdict(113, 0, struct.pack("<I", 0))
for client in range(1, 256):
    if client != mine:
        one.verdict(113, 0, struct.pack("<I", client << 21))
for window in one.tree():
    if window & ~one.mask != one.base:
        one.verdict(113, 0, struct.pack("<I", window))
itself = "alive" if one.sync() else "dead"
one.close()
again = X()
tell(itself=itself, again="connected" if again.sync() else "refused")
again.close()
