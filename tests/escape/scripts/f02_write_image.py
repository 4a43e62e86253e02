# SPDX-License-Identifier: Apache-2.0
# F02: writes into the image
# made: EROFS|EACCES
import os

from probes import opened
from tools import tell

PLACES = "/ /usr /usr/bin /etc /usr/lib/vitrine /home /dev /var /root /mnt /opt"
tell(made=[opened(f"{p}/x", os.O_CREAT | os.O_WRONLY) for p in PLACES.split() if os.path.isdir(p)])
