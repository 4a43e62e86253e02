# SPDX-License-Identifier: Apache-2.0
# F36: writes the image's pages through /proc/self/mem and a private mapping
# same: True
import hashlib
import mmap
import os

from tools import tell, tried

PATH = "/usr/lib/vitrine/vitrine_runtime/boot.py"


def digest():
    with open(PATH, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


before = digest()
fd = os.open(PATH, os.O_RDONLY)
page = mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
with open("/proc/self/maps") as file:
    start = next(int(line.split("-")[0], 16) for line in file if line.rstrip().endswith(PATH))


def scribble():
    memory = os.open("/proc/self/mem", os.O_RDWR)
    os.pwrite(memory, b"#" * 64, start)


tried(scribble)
tried(lambda: mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_WRITE))
tell(same=digest() == before)
