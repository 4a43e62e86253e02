# SPDX-License-Identifier: Apache-2.0
# F06: overwrites the interpreter it runs from
# opened: EACCES|ETXTBSY|EROFS
import os

from probes import opened
from tools import tell

tell(opened=[opened(p, os.O_RDWR) for p in ("/proc/self/exe", "/usr/bin/python3")])
