# SPDX-License-Identifier: Apache-2.0
"""The kernel's surface, call by call."""

import ctypes
import fcntl
import hashlib
import mmap
import os
import socket
import struct
import threading

from probes import attempt, in_child, libc, opened, raw, report

space = ctypes.create_string_buffer(4096)
AT = ctypes.addressof(space)
FAMILIES = {
    "AF_ALG": 38,
    "AF_PACKET": 17,
    "AF_XDP": 44,
    "AF_KCM": 41,
    "AF_TIPC": 30,
    "AF_VSOCK": 40,
    "AF_CAN": 29,
    "AF_BLUETOOTH": 31,
    "AF_RDS": 21,
    "AF_SMC": 43,
    "AF_QIPCRTR": 42,
}
NAMESPACES = {
    "user": 0x10000000,
    "mnt": 0x20000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "ipc": 0x8000000,
    "uts": 0x4000000,
    "cgroup": 0x2000000,
    "time": 0x80,
}


def cloned(flags):
    """clone() with these flags; a child that was made after all says so."""
    pid = raw("clone", flags | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    if isinstance(pid, int):
        attempt(os.waitpid, pid, 0)
        return "made"
    return pid


def int80(number, *registers):
    """A 32-bit system call from 64-bit code."""
    code = b"\x53\xb8" + struct.pack("<I", number)
    for opcode, value in zip((b"\xbb", b"\xb9", b"\xba"), registers, strict=False):
        code += opcode + struct.pack("<I", value)
    code += b"\xcd\x80\x5b\xc3"

    def run():
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        return 0

    return in_child(run)


def elf32():
    """A 32-bit program whose only instruction is int 0x80 (exit 0)."""
    code = b"\xb8\x01\x00\x00\x00\x31\xdb\xcd\x80"
    base = 0x08048000
    header = struct.pack(
        "<16sHHIIIIIHHHHHH",
        b"\x7fELF\x01\x01\x01",
        2,
        3,
        1,
        base + 84,
        52,
        0,
        0,
        52,
        32,
        1,
        40,
        0,
        0,
    )
    size = 84 + len(code)
    program = struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 4096)
    with open("/tmp/elf32", "wb") as file:
        file.write(header + program + code)
    os.chmod("/tmp/elf32", 0o755)

    def run():
        try:
            os.execv("/tmp/elf32", ["elf32"])
        except OSError as error:
            return error.errno

    return in_child(run)


def pty_ioctls():
    _, slave = os.openpty()
    calls = {}
    for name, request in (
        ("TIOCSTI", 0x5412),
        ("TIOCLINUX", 0x541C),
        ("TIOCCONS", 0x541D),
        ("TIOCSETD", 0x5423),
    ):
        calls[name] = raw("ioctl", slave, request, AT)
        calls[name + " with high bits"] = raw("ioctl", slave, request | 0xDEAD << 32, AT)
    calls["TIOCGWINSZ"] = len(fcntl.ioctl(slave, 0x5413, b"\0" * 8))
    return calls


def own_filter():
    """A filter that allows all, added to our own."""
    allow = struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000)
    code = ctypes.create_string_buffer(allow)
    program = struct.pack("<H6xQ", 1, ctypes.addressof(code))
    return in_child(lambda: 0 if raw("seccomp", 1, 0, program) == 0 else 1)


def digest():
    found = hashlib.sha256()
    for path in ("/usr/bin/python3", "/etc/passwd", "/usr/lib/vitrine/_vitrine.so"):
        with open(path, "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def page_cache_calls():
    reader, writer = os.pipe()
    image = os.open("/etc/passwd", os.O_RDONLY)
    vector = struct.pack("<QQ", AT, 1)
    return [
        raw("splice", image, 0, writer, 0, 1, 0),
        raw("tee", reader, writer, 1, 0),
        raw("vmsplice", writer, vector, 1, 0),
    ]


def status(name):
    with open("/proc/self/status") as file:
        return next(line.split()[1] for line in file if line.startswith(name + ":"))


def become_root():
    header = struct.pack("<II", 0x20080522, 0)
    every = struct.pack("<IIIIII", *([0xFFFFFFFF] * 6))
    attempts = {
        "setuid": attempt(os.setuid, 0),
        "setgid": attempt(os.setgid, 0),
        "setresuid": attempt(os.setresuid, 0, 0, 0),
        "setgroups": attempt(os.setgroups, [0]),
        "capset": raw("capset", header, every),
        "ambient": raw("prctl", 47, 2, 21, 0, 0),
        "securebits": raw("prctl", 28, 0, 0, 0, 0),
    }
    sets = {name: status(name) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    return {"attempts": attempts, "sets": sets, "no_new_privs": status("NoNewPrivs")}


before = digest()
page_cache = page_cache_calls()
thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()
report(
    io_uring=[raw(f"io_uring_{name}", 1, AT, 0, 0) for name in ("setup", "enter", "register")],
    unshare={name: raw("unshare", flag) for name, flag in NAMESPACES.items()},
    clone={name: cloned(flag) for name, flag in NAMESPACES.items() if name != "time"},
    clone_parent=cloned(0x8000),
    setns=raw("setns", os.open("/proc/self/ns/user", os.O_RDONLY), 0),
    clone3=raw("clone3", AT, 88),
    mount_api=[
        raw(name, AT, AT, 0, 0, 0)
        for name in ("fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "move_mount")
    ]
    + [raw("mount_setattr", -100, b"/", 0, AT, 32), raw("statmount", AT, AT, 1, 0)]
    + [raw("listmount", AT, AT, 1, 0)],
    programs=[raw("bpf", 0, AT, 64), raw("perf_event_open", AT, 0, -1, -1, 0)],
    userfaultfd=raw("userfaultfd", 1),
    keys=[
        raw("add_key", b"user", b"x", b"y", 1, -3),
        raw("request_key", b"user", b"x", 0, -3),
        raw("keyctl", 0, -3, 1),
    ],
    key_files=[open(path).read() for path in ("/proc/keys", "/proc/key-users")],
    families={name: raw("socket", family, 3, 0) for name, family in FAMILIES.items()},
    families_high={n: raw("socket", f | 1 << 32, 3, 0) for n, f in FAMILIES.items()},
    netlink={str(p): raw("socket", 16, 3, p) for p in (2, 4, 9, 12, 15, 16, 21)},
    usual=[
        attempt(lambda f=f: socket.socket(f, socket.SOCK_DGRAM).close())
        for f in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)
    ],
    socketcall=int80(102, 1, AT & 0xFFFFFFFF),
    int80=int80(20),
    elf32=elf32(),
    pty=pty_ioctls(),
    personality=[raw("personality", p) for p in (0x0040000, 0x0400000, 8)],
    personality_query=raw("personality", 0xFFFFFFFF),
    x32=in_child(lambda: 0 if raw(39 | 0x40000000) == "ENOSYS" else 1),
    listener=raw("seccomp", 1, 8, AT),
    own_filter=own_filter(),
    page_cache=page_cache,
    image_unchanged=digest() == before,
    devices={
        name: opened(f"/dev/{name}", os.O_RDWR)
        for name in (
            "kvm",
            "fuse",
            "vsock",
            "vhost-vsock",
            "mem",
            "kmsg",
            "tty",
            "net/tun",
            "loop0",
        )
    },
    probing=[raw("mincore", AT & ~4095, 4096, AT), raw("cachestat", 0, AT, AT, 0)],
    null_page=raw("mmap", 0, 4096, 3, 0x32, -1, 0),
    modify_ldt=raw("modify_ldt", 0, AT, 16),
    root=become_root(),
    set_mm=raw("prctl", 35, 1, AT, 0, 0),
    cpuid_fault=raw("arch_prctl", 0x1012, 0),
    time=[attempt(libc.settimeofday, space, 0)],
)
