# SPDX-License-Identifier: Apache-2.0
# K06: keyrings
# made: EPERM
from tools import call, tell

made = [call(248, b"user", b"x", b"y", 1, ring) for ring in (-1, -2, -3, -4, -5)]
made += [call(249, b"user", b"x", 0, -3), *[call(250, op, -3, 1) for op in range(32)]]
tell(made=sorted(set(made)))
