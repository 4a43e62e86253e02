# SPDX-License-Identifier: Apache-2.0
# K18: asks which pages are in memory
# asked: EPERM|ENOSYS
from tools import AT, call, tell

tell(asked=[call(27, AT & ~4095, 4096, AT), call(451, 0, AT, AT, 0), call(279, 0, 1, AT, 0, AT, 0)])
