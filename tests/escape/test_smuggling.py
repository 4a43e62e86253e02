# SPDX-License-Identifier: Apache-2.0
"""State from one one-shot to the next: a shell is used again, so whatever the kernel remembers of
the first must not be seen by the second."""

from __future__ import annotations

import pytest
from escape_server import EscapeServer, note, preface

PREFACE = """
import ctypes, os, socket, struct
from x11 import X
libc = ctypes.CDLL(None, use_errno=True)
def text(path):
    with open(path) as file: return file.read()
"""
FLOW = "socket.inet_pton(10, '::1') + struct.pack('>I', label) + struct.pack('<BBHHHI', 0, 255, 3, 60, 60, 0)"

# What is left, and where the next one looks for it.
WAYS = {
    "files": ("for p in ('/tmp/x', 'x', '/dev/shm/x'): open(p, 'w').write('x')", "[os.listdir(p) for p in ('/tmp', '.', '/dev/shm')]"),
    "numbers of inodes": ("import tempfile\nfor _ in range(1000): tempfile.TemporaryFile().close()", "os.close(os.open('/tmp/n', os.O_CREAT)) or os.stat('/tmp/n').st_ino > 500"),
    "numbers of inodes in the home": ("for n in range(1000):\n    os.mkdir('d'); os.rmdir('d')", "os.mkdir('/tmp/e') or os.stat('/tmp/e').st_ino > 500"),
    "names that were removed": ("for n in range(1000):\n    os.close(os.open('/tmp/y', os.O_CREAT)); os.remove('/tmp/y')", "(os.close(os.open('/tmp/n', os.O_CREAT)), os.stat('/tmp/n').st_ino > 500)"),
    "times of directories": ("os.utime('/tmp', (1, 1)); os.utime('.', (1, 1))", "[os.stat(p).st_mtime == 1 for p in ('/tmp', '.')]"),
    "attributes": ("for p in ('/tmp', '.', '/dev/shm'): os.setxattr(p, 'user.x', b'x')", "[os.listxattr(p) for p in ('/tmp', '.', '/dev/shm')]"),
    "System V memory": ("libc.shmget(7, 4096, 0o1666)", "libc.shmget(7, 0, 0)"),
    "numbers of System V memory": ("for _ in range(9): libc.shmctl(libc.shmget(0, 4096, 0o600), 0, 0)", "libc.shmget(0, 4096, 0o600)"),
    "numbers of System V semaphores": ("for _ in range(9): libc.semctl(libc.semget(0, 1, 0o600), 0, 0)", "libc.semget(0, 1, 0o600)"),
    "counters of lost packets": ("s = socket.socket(2, 2)\nfor _ in range(123):\n    try: s.sendto(b'x', ('1.1.1.1', 1))\n    except OSError: pass", "text('/proc/net/snmp')"),
    "counters of lost IPv6 packets": ("s = socket.socket(10, 2)\nfor _ in range(123):\n    try: s.sendto(b'x', ('2001:db8::1', 1))\n    except OSError: pass", "text('/proc/net/snmp6')"),
    "counters of packets": ("s = socket.socket(2, 2); s.bind(('127.0.0.1', 0)); s.sendto(b'x', s.getsockname())", "text('/proc/net/dev')"),
    "labels of flows": (f"s = socket.socket(10, 2)\nfor label in (0x12345, 0x54321): s.setsockopt(41, 32, {FLOW})", "text('/proc/net/ip6_flowlabel').count(chr(10))"),
    "times of the terminal's device": ("import time; time.sleep(1)\ntry: os.utime('/dev/pts/ptmx')\nexcept OSError: pass", "os.stat('/dev/pts/ptmx').st_mtime > os.stat('/dev/pts').st_mtime + .5"),
    "terminals": ("keep = [os.openpty() for _ in range(3)]", "sorted(os.listdir('/dev/pts'))"),
    "abstract sockets": ("s = socket.socket(1); s.bind('\\0left'); s.listen()", "[line for line in text('/proc/net/unix').splitlines() if 'left' in line]"),
    "limits": ("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); os.umask(0); os.nice(3)", "(__import__('resource').getrlimit(7), os.umask(0), os.nice(0))"),
    "a stopped child": ("import signal\nif os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)", "[p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()]"),
    "numbers of processes": ("for _ in range(100):\n    pid = os.fork()\n    if pid == 0: os._exit(0)\n    os.waitpid(pid, 0)", "(os.getpid(), __import__('subprocess').run(['sh', '-c', 'echo $$'], capture_output=True).stdout)"),
    "windows that outlive their program": ("one = X(); w = one.window(); one.verdict(112, 1); one.sync(); one.close()", "one = X(); b'\\0\\0\\xff' in one.pixels()"),
    "properties of the screen": ("one = X(); one.verdict(18, 0, struct.pack('<IIIBxxxI', one.root, one.atom('LEFT'), 31, 8, 4) + b'left')", "one = X(); one.ask(20, 0, struct.pack('<IIIII', one.root, one.atom('LEFT'), 0, 0, 9))[1][8:]"),
    # By name: their numbers depend on when the screen's helper made its own.
    "atoms": ("[X().atom(f'left {n}') for n in range(9)]", "one = X(); [one.atom(f'left {n}', make=False) for n in range(9)]"),
    "peak of memory": ("x = bytearray(200 << 20); x[::4096] = x[::4096]", "1"),
}  # fmt: skip


def look(escape_server: EscapeServer, expression: str) -> str:
    ran = escape_server.one_shot(preface() + PREFACE + expression)
    assert ran["outcome"] == "ok", ran
    return str(ran["results"][-1]["text/plain"])


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_smuggled(escape_server: EscapeServer, way: str) -> None:
    leave, find = WAYS[way]
    escape_server.one_shot("1")
    fresh = look(escape_server, find)
    escape_server.one_shot("1")
    ran = escape_server.one_shot(preface() + PREFACE + leave)
    assert ran["outcome"] == "ok", ran
    seen = look(escape_server, find)
    note(
        "S01",
        f"smuggles by {way}",
        "nothing",
        "nothing" if seen == fresh else seen,
        escape_server.mode,
    )
    assert seen == fresh


def test_the_peak_of_memory_is_ones_own(escape_server: EscapeServer) -> None:
    if escape_server.mode == "unprivileged":
        pytest.skip("needs root: memory is measured by cgroups")
    escape_server.one_shot("x = bytearray(100 << 20); x[::4096] = x[::4096]\nNone")

    assert escape_server.one_shot("1")["usage"]["peak_memory_kb"] < 60 << 10


def test_after_all_the_server_is_as_before(escape_server: EscapeServer) -> None:
    escape_server.is_as_before()
