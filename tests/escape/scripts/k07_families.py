# SPDX-License-Identifier: Apache-2.0
# K07: sockets of every family but the usual
# made: EAFNOSUPPORT
# pairs: EAFNOSUPPORT
# netlink: EAFNOSUPPORT
from tools import AT, call, tell

USUAL = (1, 2, 10, 16)
made = [call(41, f, k, 0) for f in range(64) if f not in USUAL for k in (1, 2, 3, 5)]
made += [call(41, f | 1 << 32, 1, 0) for f in (38, 40, 17)] + [call(41, -1, 1, 0)]
pairs = [call(53, f, 1, 0, AT) for f in range(2, 64)]
netlink = [call(41, 16, 3, protocol) for protocol in range(1, 32)]
tell(made=sorted(set(made)), pairs=sorted(set(pairs)), netlink=sorted(set(netlink)))
