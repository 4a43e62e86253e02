# SPDX-License-Identifier: Apache-2.0
# P07: takes descriptors out of other processes
# stolen: EPERM
import os

from tools import call, tell, with_child


def steal(pid):
    pidfd = os.pidfd_open(pid)
    try:
        return [call(438, pidfd, number, 0) for number in (0, 1, 2, 1023)]
    finally:
        os.close(pidfd)


tell(stolen=[*with_child(steal), *steal(os.getpid()), *steal(1)])
