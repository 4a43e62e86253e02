# SPDX-License-Identifier: Apache-2.0
# F04: counts its descriptors
# strange: nothing
import os

from tools import tell

kinds = {}
for name in os.listdir("/proc/self/fd"):
    try:
        kinds[int(name)] = os.readlink(f"/proc/self/fd/{name}").partition(":")[0]
    except OSError:
        continue
# 1021 and 1022 are the runtime's copies of 1 and 2.
usual = {0: "/dev/null", 1: "pipe", 2: "pipe", 1021: "pipe", 1022: "pipe", 1023: "socket"}
tell(strange=[f"{n} {k}" for n, k in kinds.items() if k not in usual.get(n, "") and "/fd" not in k])
