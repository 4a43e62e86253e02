# SPDX-License-Identifier: Apache-2.0
# K16: splices into the page cache of the image
# calls: ENOSYS
# same: True
import hashlib
import os
import struct

from tools import AT, call, tell


def digest():
    with open("/etc/passwd", "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


before = digest()
reader, writer = os.pipe()
image = os.open("/etc/passwd", os.O_RDONLY)
vector = struct.pack("<QQ", AT, 1)
calls = [
    call(275, image, 0, writer, 0, 1, 0),
    call(276, reader, writer, 1, 0),
    call(278, writer, vector, 1, 0),
]
os.write(writer, b"x")
for fd in (reader, writer, image):
    os.close(fd)
tell(calls=calls, same=digest() == before)
