# SPDX-License-Identifier: Apache-2.0
# K08: the hypervisor's sockets
# made: EAFNOSUPPORT
from tools import call, tell

tell(made=[call(41, 40, kind, 0) for kind in (1, 2, 5, 1 | 0o2000000)])
