# SPDX-License-Identifier: Apache-2.0
# X38: takes every connection that the server has, some half open, then goes
# full: refused
# after: connected
import time

from tools import tell
from x11 import Refused, X

held = []
full = "never"
for _ in range(600):
    try:
        held.append(X(wait=5))
    except (Refused, OSError):
        full = "refused"
        break
for one in held:
    one.close()
after = "refused"
for _ in range(100):
    try:
        one = X()
        after = "connected"
        one.close()
        break
    except (Refused, OSError):
        time.sleep(0.1)
tell(full=full, after=after)
