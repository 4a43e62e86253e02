# SPDX-License-Identifier: Apache-2.0
# X31: extensions that reach beyond the server: shared memory, graphics devices, the host's screen
# found: nothing
from tools import tell
from x11 import X

one = X()
DANGEROUS = ("SHM", "GLX", "DRI", "VIDMODE", "DGA", "XVIDEO-MOTION", "SELINUX", "APPGROUP")
found = [name for name in one.extensions() if any(word in name.upper() for word in DANGEROUS)]
one.close()
tell(found=found)
