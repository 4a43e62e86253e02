# SPDX-License-Identifier: Apache-2.0
# F30: changes the times of the host's own device nodes
# touched: EROFS|EACCES|EPERM
import os

from tools import tell, tried

NAMES = "null zero full random urandom"
touched = [tried(os.utime, f"/dev/{name}") for name in NAMES.split()]
touched += [tried(os.chmod, f"/dev/{name}", 0o600) for name in NAMES.split()]
touched += [tried(os.utime, f"/proc/{name}") for name in ("keys", "kallsyms", "cmdline")]
tell(touched=touched)
