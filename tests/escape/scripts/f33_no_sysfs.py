# SPDX-License-Identifier: Apache-2.0
# F33: looks for sysfs, cgroupfs and other kernel file systems
# listed: ENOENT|nothing|EACCES
import os

from tools import tell


def listed(path):
    try:
        return os.listdir(path)
    except OSError as error:
        return {2: "ENOENT", 13: "EACCES", 20: "ENOTDIR"}.get(error.errno, error.strerror)


PATHS = "/sys /sys/fs/cgroup /sys/kernel/debug /sys/kernel/security /dev/mqueue /dev/hugepages /run"
tell(listed=[listed(path) for path in PATHS.split()])
