# SPDX-License-Identifier: Apache-2.0
"""Runs a program of the image with the image as its root, in namespaces of its own.

As root by chroot, otherwise through a user namespace, so it can be impossible: see `possible`.
Nothing it mounts is visible outside. The image itself is read-only unless `writable`.
"""

import os
import shutil
import subprocess
from pathlib import Path

_MOUNT_AND_ENTER = r"""
set -e
root=$1 access=$2; shift 2
mount --bind "$root" "$root"
for device in null zero full random urandom; do
  mount --bind "/dev/$device" "$root/dev/$device"
done
for directory in tmp home/sandbox dev/shm run; do
  mount -t tmpfs -o mode=1777 tmpfs "$root/$directory"
done
mount -t proc proc "$root/proc" 2>/dev/null || true
if [ "$access" = ro ]; then mount -o remount,bind,ro "$root"; fi
exec chroot "$root" "$@"
"""

_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/home/sandbox",
    "LANG": "C.UTF-8",
    "TMPDIR": "/tmp",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def run(
    root: Path,
    command: list[str],
    *,
    writable: bool = False,
    env: dict[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-root-user"]
    # The host's tools are found by absolute path, the image's by the PATH given to it.
    sbin = os.pathsep.join(["/usr/sbin", "/usr/bin", "/sbin", "/bin"])
    chroot = shutil.which("chroot", path=sbin) or "chroot"
    script = _MOUNT_AND_ENTER.replace("exec chroot", f"exec {chroot}")
    arguments = [*unshare, "/bin/sh", "-c", script, "sh", str(root), "rw" if writable else "ro"]
    return subprocess.run(
        [*arguments, *command],
        env={**_ENVIRONMENT, **(env or {}), "PATH": f"{_ENVIRONMENT['PATH']}:/usr/sbin:/sbin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def possible(root: Path) -> bool:
    try:
        return run(root, ["/bin/true"]).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
