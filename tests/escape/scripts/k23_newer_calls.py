# SPDX-License-Identifier: Apache-2.0
# K23: calls newer than the policy
# refused: ENOSYS
from tools import AT, call, tell

NUMBERS = [*range(452, 512), 600, 1000, 4096]
tell(refused=sorted({call(number, AT, AT, AT, AT, AT, AT) for number in NUMBERS}))
