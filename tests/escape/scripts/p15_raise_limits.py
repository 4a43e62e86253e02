# SPDX-License-Identifier: Apache-2.0
# P15: raises its own limits and its standing with the OOM killer
# raised: EPERM|ValueError
# lowered: EACCES|EPERM
# priority: EPERM|EACCES
import os
import resource

from tools import tell, tried, wrote

raised = []
for name in ("NOFILE", "NPROC", "CORE", "FSIZE", "MEMLOCK", "MSGQUEUE", "RTPRIO", "SIGPENDING"):
    which = getattr(resource, f"RLIMIT_{name}")
    hard = resource.getrlimit(which)[1]
    raised.append(tried(resource.setrlimit, which, (hard + 1, hard + 1)))
    raised.append(tried(resource.prlimit, 0, which, (hard + 1, hard + 1)))
lowered = [wrote("/proc/self/oom_score_adj", value) for value in (b"-1000", b"0", b"999")]
lowered += [wrote("/proc/self/oom_adj", b"-17")]
priority = [
    tried(os.setpriority, os.PRIO_PROCESS, 0, -20),
    tried(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1)),
    tried(os.sched_setscheduler, 0, os.SCHED_RR, os.sched_param(1)),
]
tell(raised=raised, lowered=lowered, priority=priority)
