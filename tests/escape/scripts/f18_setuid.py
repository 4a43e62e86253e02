# SPDX-License-Identifier: Apache-2.0
# F18: looks for setuid programs and runs a copy with the bit set
# found: nothing
# uid: 1000
# no_new_privs: 1
import os
import shutil
import stat
import subprocess

from tools import status, tell

found = []
for directory in ("/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local", "/etc"):
    for here, _, names in os.walk(directory):
        for name in names:
            mode = os.lstat(f"{here}/{name}").st_mode
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                found.append(name)
shutil.copy("/usr/bin/id", "/tmp/id")
os.chmod("/tmp/id", 0o6755)
said = subprocess.run(["/tmp/id", "-u"], capture_output=True, text=True, check=True).stdout
os.remove("/tmp/id")
tell(found=found, uid=said.strip(), no_new_privs=status("NoNewPrivs"))
