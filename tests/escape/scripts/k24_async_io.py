# SPDX-License-Identifier: Apache-2.0
# K24: asynchronous input and output, message queues, old interfaces
# refused: ENOSYS|EPERM
from tools import AT, call, tell

NUMBERS = (206, 207, 208, 209, 210, 68, 69, 70, 71, 240, 241, 242, 243, 134, 156, 174, 177, 178)
NUMBERS += (180, 181, 182, 183, 184, 185, 205, 211, 212, 214, 215, 236, 134, 136, 139, 300, 447)
tell(refused=[call(number, AT, AT, AT, AT, AT) for number in NUMBERS])
