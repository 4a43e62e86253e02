# SPDX-License-Identifier: Apache-2.0
# X30: connects without the cookie, with a wrong one, with absurd ones
# seen: refused
import os

from tools import tell
from x11 import Refused, X, cookie

name, data = cookie()
wrong = bytes([data[0] ^ 1]) + data[1:]
TRIES = (
    (b"", b""),
    (name, b""),
    (name, wrong),
    (name, data[:-1]),
    (name, data + b"\0"),
    (name, os.urandom(16)),
    (b"XDM-AUTHORIZATION-1", data),
    (b"SUN-DES-1", b"unix.1001@"),
    (b"x" * 65535, b"y" * 65535),
)
seen = []
for auth in TRIES:
    try:
        X(auth=auth).close()
        seen.append("connected")
    except (Refused, OSError):
        seen.append("refused")
tell(seen=seen)
