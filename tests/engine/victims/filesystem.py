# SPDX-License-Identifier: Apache-2.0
"""Attacks on the file system: reading the host, writing the image, leaving the root."""

import ctypes
import os
import stat
import struct

from probes import attempt, opened, raw, report

HOST_FILES = [
    "/etc/shadow",
    "/root/.ssh/id_rsa",
    "/home/sandbox/.ssh",
    "/etc/vitrine",
    "/work",
    "/var/run/docker.sock",
    "/sys/kernel",
    "/sys/fs/cgroup",
    "/boot",
    "/proc/1/root",
    "/proc/1/cwd",
    "/proc/1/environ",
    "/proc/1/mem",
    "/proc/1/maps",
    "/proc/1/fd",
    "/proc/2/root/../etc/shadow",
    "/proc/self/root/etc/shadow",
    os.environ.get("HOST_FILE", "/etc/shadow"),
]
READ_ONLY = ["/", "/usr", "/usr/bin", "/etc", "/usr/lib/vitrine", "/home", "/dev", "/var", "/root"]
IMAGE_FILES = ["/etc/passwd", "/usr/bin/env", "/usr/lib/vitrine/vitrine_runtime/boot.py"]


def write_new(directory):
    return opened(f"{directory}/planted", os.O_CREAT | os.O_WRONLY)


def descriptors():
    """Number -> what it is; the one that lists is left out."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink(f"/proc/self/fd/{name}").partition(":")[0]
        except OSError:
            continue
    return found


def climb():
    """Roots reached through any descriptor or by many `..`, named by what lies in them."""
    here = os.open(".", os.O_PATH)
    root = os.stat("/")
    escapes = []
    try:
        for number in range(1024):
            for path in (f"/proc/self/fd/{number}", f"/proc/self/fd/{number}/" + "../" * 40):
                try:
                    os.chdir(path)
                except OSError:
                    continue
                for _ in range(50):
                    os.chdir("..")
                now = os.stat(".")
                if (now.st_dev, now.st_ino) != (root.st_dev, root.st_ino):
                    escapes.append(path)
    finally:
        os.fchdir(here)
        os.close(here)
    return escapes


def shocker():
    """open_by_handle_at with a made-up handle of the root inode."""
    handle = struct.pack("<II", 8, 1) + struct.pack("<II", 2, 0)
    found = raw("open_by_handle_at", os.open("/", os.O_RDONLY), handle, os.O_RDONLY)
    named = raw("name_to_handle_at", -100, b"/", ctypes.create_string_buffer(256), 0, 0)
    return [found, named]


def change_image_files():
    found = set()
    for path in IMAGE_FILES:
        found |= {
            attempt(os.chmod, path, 0o777),
            attempt(os.chown, path, 1000, 1000),
            attempt(os.utime, path, (0, 0)),
            attempt(os.setxattr, path, "user.x", b"1"),
            attempt(os.removexattr, path, "user.x"),
            attempt(os.truncate, path, 0),
            attempt(os.unlink, path),
            attempt(os.rename, path, path + ".moved"),
            attempt(os.link, path, "/tmp/linked"),
            opened(path, os.O_WRONLY),
            opened(path, os.O_RDWR | os.O_APPEND),
        }
    return sorted(map(str, found))


def setuid_files():
    found = []
    for directory, names, files in os.walk("/"):
        if directory == "/":
            names[:] = [n for n in names if n != "proc"]
        for name in files:
            try:
                mode = os.lstat(os.path.join(directory, name)).st_mode
            except OSError:
                continue
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                found.append(os.path.join(directory, name))
    return found


def capabilities():
    """Files of the image that would give capabilities."""
    found = []
    for directory in ("/usr/bin", "/usr/sbin"):
        for name in os.listdir(directory):
            try:
                os.getxattr(f"{directory}/{name}", "security.capability")
                found.append(name)
            except OSError:
                continue
    return found


mounted = {
    "tmpfs": raw("mount", b"none", b"/tmp", b"tmpfs", 0, 0),
    "bind": raw("mount", b"/proc", b"/tmp", 0, 4096, 0),
    "remount": raw("mount", 0, b"/", 0, 32 | 4096, 0),
    "move": raw("mount", b"/tmp", b"/home/sandbox", 0, 8192, 0),
    "umount": raw("umount2", b"/proc", 2),
    "pivot": raw("pivot_root", b"/tmp", b"/tmp"),
    "chroot": raw("chroot", b"/tmp"),
}
nodes = [
    attempt(os.mknod, f"/tmp/{kind}-{major}", kind | 0o666, os.makedev(major, minor))
    for kind in (stat.S_IFCHR, stat.S_IFBLK)
    for major, minor in ((1, 1), (8, 0), (10, 229))
]
report(
    host={path: opened(path) for path in HOST_FILES},
    writes={directory: write_new(directory) for directory in READ_ONLY},
    descriptors=descriptors(),
    escapes=climb(),
    own_program=[opened("/proc/self/exe", os.O_WRONLY), opened("/usr/bin/python3", os.O_WRONLY)],
    nodes=nodes,
    shocker=shocker(),
    mounted=mounted,
    image=change_image_files(),
    setuid=setuid_files(),
    capabilities=capabilities(),
    scratch={place: write_new(place) for place in ("/tmp", "/home/sandbox", "/dev/shm")},
    run_from={
        place: attempt(os.system, f"cp /usr/bin/true {place}/t && {place}/t 2>/dev/null")
        for place in ("/tmp", "/home/sandbox", "/dev/shm")
    },
    proc_sys=[
        opened(f"/proc/sys/{name}", os.O_WRONLY)
        for name in ("kernel/hostname", "vm/drop_caches", "user/max_user_namespaces")
    ],
    sysrq=opened("/proc/sysrq-trigger", os.O_WRONLY),
    new_device=opened("/dev/ptmx", os.O_RDWR),
)
