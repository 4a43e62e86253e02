# SPDX-License-Identifier: Apache-2.0
# F01: reads the host's files
# opened: ENOENT|EACCES
from probes import opened
from tools import tell

PATHS = "/etc/shadow /root/.ssh/id_rsa /etc/vitrine /work /run/docker.sock /boot /etc/machine-id"
tell(opened=[opened(path) for path in PATHS.split()])
