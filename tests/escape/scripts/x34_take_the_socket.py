# SPDX-License-Identifier: Apache-2.0
# X34: removes, replaces and changes the display's socket and cookie
# seen: EROFS|EPERM|EACCES|EBUSY|ENOTEMPTY|EXDEV|EEXIST|EINVAL
# after: connected
import os

from tools import tell, tried
from x11 import X

AT = "/tmp/.X11-unix"
seen = [
    tried(os.unlink, AT + "/X99"),
    tried(os.rename, AT + "/X99", "/tmp/mine"),
    tried(os.rename, AT, "/tmp/x"),
    tried(os.rmdir, AT),
    tried(os.mkdir, AT + "/y"),
    tried(os.symlink, "/tmp/mine", AT + "/X0"),
    tried(os.link, AT + "/X99", "/tmp/linked"),
    tried(os.chmod, AT + "/X99", 0),
    tried(os.chmod, AT, 0),
    tried(os.utime, AT + "/X99"),
    tried(os.truncate, AT + "/authority", 0),
    tried(lambda: open(AT + "/authority", "w")),
    tried(os.setxattr, AT + "/authority", "user.x", b"x"),
]
one = X()
tell(seen=seen, after="connected" if one.sync() else "refused")
one.close()
