# SPDX-License-Identifier: Apache-2.0
# F23: changes modes, owners, times and attributes of the image
# changed: EROFS|EXDEV|EACCES|EPERM
import os

from tools import call, tell, tried

changed = []
for path in (
    "/etc/passwd",
    "/usr/bin/env",
    "/usr/lib/vitrine/vitrine_runtime/boot.py",
    "/usr",
    "/",
):
    changed += [
        tried(os.chmod, path, 0o777),
        tried(os.chown, path, 1000, 1000),
        tried(os.utime, path, (0, 0)),
        tried(os.utime, path),
        tried(os.setxattr, path, "user.x", b"1"),
        tried(os.setxattr, path, "trusted.overlay.opaque", b"y"),
        tried(os.rename, path, path.rstrip("/") + "x"),
        tried(os.link, path, "/tmp/linked"),
    ]
changed += [call(76, b"/etc/passwd", 0)]
tell(changed=changed)
