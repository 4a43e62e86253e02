# SPDX-License-Identifier: Apache-2.0
# P04: kills, stops and signals init
# sent: done|EPERM
# alive: True
import os
import signal

from tools import call, tell, tried

NUMBERS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV, signal.SIGCHLD, 64)
sent = [tried(os.kill, 1, number) for number in NUMBERS]
pidfd = os.pidfd_open(1) if hasattr(os, "pidfd_open") else -1
sent += [call(424, pidfd, 9, 0, 0)]
os.close(pidfd)
pid = os.fork()  # would fail if init were dead
if pid == 0:
    os._exit(7)
tell(sent=sent, alive=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7)
