# SPDX-License-Identifier: Apache-2.0
# P16: makes children of the keeper, and finds out who its parent is
# made: EPERM
# parent: 0
import os

from tools import call, tell

made = [call(56, 0x8000 | 17, 0, 0, 0, 0), call(56, 0x8000, 0, 0, 0, 0)]
tell(made=made, parent=os.getppid())
