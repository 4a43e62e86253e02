# SPDX-License-Identifier: Apache-2.0
# X04: other displays, by abstract names, by files and by TCP
# abstract: nothing
# files: nothing
# tcp: nothing
# listed: nothing
import os
import socket

from tools import tell
from x11 import X

X().close()  # so that a server runs


def opens(family, address):
    with socket.socket(family) as one:
        one.settimeout(5)
        try:
            one.connect(address)
        except OSError:
            return False
        return True


abstract = [n for n in range(200) if opens(socket.AF_UNIX, f"\0/tmp/.X11-unix/X{n}")]
files = [n for n in range(200) if n != 99 and opens(socket.AF_UNIX, f"/tmp/.X11-unix/X{n}")]
tcp = [n for n in range(120) if opens(socket.AF_INET, ("127.0.0.1", 6000 + n))]
with open("/proc/net/unix") as file:
    names = [line.rpartition(" ")[2].strip() for line in file if "@" in line]
listed = [name for name in names if name != "@vitrine-packages"]  # that one is the session's own
listed += [name for name in os.listdir("/tmp/.X11-unix") if name not in ("X99", "authority")]
tell(abstract=abstract, files=files, tcp=tcp, listed=listed)
