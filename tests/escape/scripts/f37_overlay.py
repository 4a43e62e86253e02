# SPDX-License-Identifier: Apache-2.0
# F37: reaches the layers below the overlay
# reached: ENOENT|EACCES|EPERM|ENODATA|EOPNOTSUPP|nothing
import os

from tools import tell, tried

reached = [
    tried(os.listdir, path)
    for path in ("/runtime", "/image", "/proc/self/root/../image", "/root/..image")
]
reached += [
    tried(os.getxattr, "/usr/bin/env", name)
    for name in ("trusted.overlay.origin", "user.overlay.origin", "user.overlay.redirect")
]
tell(reached=reached)
