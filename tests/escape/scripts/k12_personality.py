# SPDX-License-Identifier: Apache-2.0
# K12: personality without address randomisation
# set: EPERM
from tools import call, tell

tell(set=[call(135, p) for p in (0x0040000, 0x0400000, 8, 0x200000, 0x100000, 0xFFFFFFFE)])
