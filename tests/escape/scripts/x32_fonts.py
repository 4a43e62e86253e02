# SPDX-License-Identifier: Apache-2.0
# X32: makes the server read files and open connections by its font path
# paths: error 2|error 8|done
# found: nothing
# after: alive
import os
import struct

from tools import tell
from x11 import X

os.makedirs("fonts", exist_ok=True)
with open("fonts/fonts.dir", "w") as file:
    file.write("1\nstolen.pcf -x-stolen-medium-r-normal--10-100-75-75-c-60-iso8859-1\n")
if not os.path.lexists("fonts/stolen.pcf"):
    os.symlink("/tmp/authority", "fonts/stolen.pcf")
one = X()


def set_path(path):
    names = b"".join(bytes([len(p)]) + p for p in path)
    return one.verdict(51, 0, struct.pack("<Hxx", len(path)) + names)


WISHES = (
    b"/home/sandbox/fonts",
    b"/tmp/fb",
    b"/proc/self/fd",
    b"tcp/127.0.0.1:7100",
    b"unix/:7100",
    b"inet/169.254.169.254:80",
    b"catalogue:/etc",
    b"/" + b"a" * 200,
)
paths = [set_path([wish]) for wish in WISHES]
kind, data = one.ask(49, 0, struct.pack("<HH", 1000, 1) + b"*")
found = ["stolen"] if kind == "reply" and b"stolen" in data else []
set_path([b"built-ins"])
after = "alive" if one.sync() else "dead"
one.close()
tell(paths=paths, found=found, after=after)
