# SPDX-License-Identifier: Apache-2.0
# K10: types into a terminal
# typed: EPERM
import os

from tools import AT, call, tell

master, slave = os.openpty()
REQUESTS = (0x5412, 0x541C, 0x541D, 0x5423)
typed = [call(16, slave, request, AT) for request in REQUESTS]
typed += [call(16, slave, request | 0xDEAD << 32, AT) for request in REQUESTS]
os.close(master)
os.close(slave)
tell(typed=typed)
