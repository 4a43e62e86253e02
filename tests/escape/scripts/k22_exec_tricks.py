# SPDX-License-Identifier: Apache-2.0
# K22: runs programs from memory and by odd interpreters
# ran: 1000
# still_jailed: 2
import os
import subprocess

from tools import tell

fd = os.memfd_create("program", 0)
with open("/usr/bin/id", "rb") as file:
    os.write(fd, file.read())
path = f"/proc/self/fd/{fd}"
ran = [subprocess.run([path, "-u"], pass_fds=[fd], capture_output=True, text=True).stdout.strip()]
os.close(fd)
with open("/tmp/script", "w") as file:
    file.write("#!/usr/bin/python3\nimport os\nprint(os.geteuid())\n")
os.chmod("/tmp/script", 0o6755)
ran.append(subprocess.run(["/tmp/script"], capture_output=True, text=True).stdout.strip())
os.remove("/tmp/script")
seen = subprocess.run(
    ["/usr/bin/grep", "Seccomp:", "/proc/self/status"], capture_output=True, text=True
).stdout
tell(ran=ran, still_jailed=seen.split()[-1])
