# SPDX-License-Identifier: Apache-2.0
# F32: reads what /proc tells about the host
# said: nothing|ENOENT|EACCES|EPERM
from tools import tell


def read(name):
    try:
        with open(f"/proc/{name}", "rb") as file:
            return "something" if file.read(16) else "nothing"
    except OSError as error:
        return {1: "EPERM", 2: "ENOENT", 13: "EACCES"}.get(error.errno, error.strerror)


NAMES = """keys key-users kallsyms timer_list kpagecount kpageflags kcore kmsg config.gz modules
slabinfo interrupts cmdline sched_debug vmallocinfo pagetypeinfo self/stack
sysrq-trigger sysvipc/missing net/nf_conntrack vmcore"""
tell(said=[read(name) for name in NAMES.split()])
