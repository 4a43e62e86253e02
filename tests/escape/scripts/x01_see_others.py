# SPDX-License-Identifier: Apache-2.0
# X01: looks for the windows and pixels of the neighbour
# pixels: own
# titles: nothing
# deep: nothing
import struct

from tools import tell
from x11 import X

PEARL = b"\xc8\xe0\xea"  # what the neighbour's window is painted with
one = X()
mine = one.window(0, 0, 50, 50)
one.sync()
pixels = one.pixels()
foreign = [w for w in one.tree() if w & ~one.mask != one.base]
# Pixmaps and windows of whoever else: every number that a client could have.
deep = []
for client in range(1, 128):
    for number in range(1, 40):
        if (client << 21) == one.base:
            continue
        kind, data = one.ask(14, 0, struct.pack("<I", client << 21 | number))
        if kind == "reply":
            seen = one.pixels(client << 21 | number, 0, 0, 1, 1)
            if isinstance(seen, bytes) and seen[:3] == PEARL:
                deep.append("pearl")
one.close()
tell(
    pixels="pearl" if PEARL in pixels else "own",
    titles=[t for t in map(X().title, foreign) if "pearl" in t],
    deep=deep,
)
