# SPDX-License-Identifier: Apache-2.0
# F05: climbs out through a descriptor
# escapes: nothing
import os

from tools import tell

here = os.open(".", os.O_PATH)
root = os.stat("/")
escapes = []
for number in range(1024):
    for path in (f"/proc/self/fd/{number}", f"/proc/self/fd/{number}/" + "../" * 40):
        try:
            os.chdir(path)
            for _ in range(50):
                os.chdir("..")
        except OSError:
            continue
        if os.stat(".").st_ino != root.st_ino or os.stat(".").st_dev != root.st_dev:
            escapes.append(path)
os.fchdir(here)
os.close(here)
tell(escapes=escapes)
