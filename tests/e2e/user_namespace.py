# SPDX-License-Identifier: Apache-2.0
"""Becomes root of a new user namespace, then the command: user_namespace.py OUTSIDE COUNT CMD...

Maps COUNT ids from 0 on to those from OUTSIDE on, for users and groups. A child that stays outside
writes the maps, as newuidmap would.
"""

from __future__ import annotations

import ctypes
import os
import sys

CLONE_NEWUSER = 0x10000000


def main() -> None:
    outside, count, *command = sys.argv[1:]
    entered, mapped = os.pipe(), os.pipe()
    target = os.getpid()
    if os.fork() == 0:
        os.read(entered[0], 1)
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{target}/{name}", "w") as file:
                file.write(f"0 {outside} {count}")
        os.write(mapped[1], b"x")
        os._exit(0)
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
        sys.exit(f"no user namespace: {os.strerror(ctypes.get_errno())}")
    os.write(entered[1], b"x")
    os.close(mapped[1])
    if os.read(mapped[0], 1) != b"x":
        sys.exit("the ids were not mapped")
    os.wait()
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
