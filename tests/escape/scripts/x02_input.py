# SPDX-License-Identifier: Apache-2.0
# X02: listens to keys and forges keys, buttons and records: on its own server only
# pressed: none
# forged: done
# recorded: no one else
import struct

from tools import tell
from x11 import X

one = X()
kind, data = one.ask(44)
pressed = "none" if data[8:40] == b"\0" * 32 else "some"
forged = "no XTEST"
if xtest := one.extension("XTEST"):
    forged = "done"
    # Keys and buttons down and up, and the pointer all over the screen.
    for what, detail in ((2, 38), (3, 38), (4, 1), (5, 1), (6, 0)):
        event = struct.pack("<BBHIIIIhhxxxxxxxx", what, detail, 0, 0, one.root, 0, 0, 100, 100)
        if one.verdict(xtest, 2, event) != "done":
            forged = "refused"
recorded = "no one else"
if record := one.extension("RECORD"):
    # All clients, all events: a context, and what it knows of others.
    context = one.id()
    ranges = struct.pack("<BBBBHHBBHHBBBBBBxx", 0, 127, 0, 0, 0, 0, 0, 0, 0, 0, 2, 6, 2, 6, 0, 0)
    one.verdict(
        record, 1, struct.pack("<IBxxxII", context, 0, 1, 1) + struct.pack("<I", 3) + ranges
    )
    kind, data = one.ask(record, 4, struct.pack("<I", context))
    if kind == "reply" and b"pearl" in data:
        recorded = "the neighbour"
    one.verdict(record, 7, struct.pack("<I", context))
one.close()
tell(pressed=pressed, forged=forged, recorded=recorded)
