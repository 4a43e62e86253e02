# SPDX-License-Identifier: Apache-2.0
# F34: reads the host's paths from its own mount table
# leaks: nothing
import re

from tools import tell

with open("/proc/self/mountinfo") as file:
    text = file.read()
tell(leaks=re.findall(r"/(?:work|root|srv|build|image|upperdir)\S*", text))
