# SPDX-License-Identifier: Apache-2.0
# F03: looks into init through /proc
# seen: ENOENT|EACCES
from probes import opened
from tools import tell

NAMES = "root cwd environ mem maps fd exe ns/user ns/mnt task/1/mem map_files stack syscall"
tell(seen=[opened(f"/proc/1/{name}") for name in NAMES.split()])
