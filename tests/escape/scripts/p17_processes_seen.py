# SPDX-License-Identifier: Apache-2.0
# P17: lists processes and guesses the numbers of others
# seen: nothing
# signalled: ESRCH|EPERM
import os

from tools import tell, tried

own = os.getpid()
seen = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != own]
signalled = [tried(os.kill, pid, 0) for pid in range(own + 50, own + 3000)]
signalled += [tried(os.kill, pid, 0) for pid in (2**22 - 1, 99999, 31337)]
tell(seen=seen, signalled=sorted(set(signalled)))
