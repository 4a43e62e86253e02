# SPDX-License-Identifier: Apache-2.0
# X35: looks for its X server, signals it, looks for its framebuffer
# processes: nothing
# signalled: ESRCH|EPERM
# framebuffer: nothing
# after: alive
import os
import signal

from tools import tell, tried
from x11 import X

one = X()
processes = []
for number in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{number}/cmdline") as file:
            processes += [number] if "Xvfb" in file.read() else []
    except OSError:
        pass
own = {
    int(thread)
    for process in os.listdir("/proc")
    if process.isdigit()
    for thread in os.listdir(f"/proc/{process}/task")
}
signalled = {tried(os.kill, n, signal.SIGKILL) for n in range(2, 2000) if n not in own}
framebuffer = []
for directory, _, names in os.walk("/"):
    if not directory.startswith("/proc"):
        framebuffer += [name for name in names if "Xvfb_screen" in name]
after = "alive" if one.sync() else "dead"
one.close()
tell(processes=processes, signalled=list(signalled), framebuffer=framebuffer, after=after)
