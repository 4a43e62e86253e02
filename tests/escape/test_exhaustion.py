# SPDX-License-Identifier: Apache-2.0
"""Attacks on time, memory, processes and output: only the session that makes them may suffer."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from escape_server import EscapeServer, Session, escape_server_of, note
from served import Background, until

# In the order of the corpus: number, what it does, limits, code, what may come of it.
# An outcome is "OUTCOME", or "OUTCOME: last word of its output".
Case = tuple[str, str, dict[str, Any], str, str]

SMALL = {"memory_mb": 128, "disk_mb": 64}
FILL = """
import os, errno
def until_refused(act):
    count = 0
    try:
        while count < 10_000_000:
            act(count)
            count += 1
    except OSError as error:
        return errno.errorcode[error.errno]
    except (MemoryError, RuntimeError) as error:
        return type(error).__name__
    return "never"
"""
# The session's memory limit ends these, so without cgroups they are not tried.
MEMORY: list[Case] = [
    ("R01", "allocates 8 GiB", SMALL, "x = bytearray(8 << 30)\nx[::4096] = b'x' * len(x[::4096])", "crashed|oom|exception"),
    ("R02", "fills memfds", SMALL, "import os\nfor n in range(4):\n    fd = os.memfd_create('x')\n    for _ in range(64): os.write(fd, bytes(1 << 20))\nprint('never')", "oom"),
    ("R02", "fills pipes", SMALL, FILL + "import fcntl\nkeep = []\ndef one(n):\n    r, w = os.pipe(); keep.append((r, w)); os.set_blocking(w, False)\n    try: os.write(w, bytes(1 << 16))\n    except BlockingIOError: pass\nprint(until_refused(one))", "ok: EMFILE|oom"),
    ("R02", "fills sockets", SMALL, FILL + "import socket\nkeep = []\ndef one(n):\n    pair = socket.socketpair(); keep.append(pair)\n    pair[0].setblocking(False)\n    try:\n        while True: pair[0].send(bytes(1 << 15))\n    except BlockingIOError: pass\nprint(until_refused(one))", "ok: EMFILE|oom"),
    ("R02", "fills System V shared memory", SMALL, "import ctypes\nlibc = ctypes.CDLL(None); libc.shmat.restype = ctypes.c_void_p\nfor n in range(32):\n    at = libc.shmat(libc.shmget(0, 8 << 20, 0o600), 0, 0)\n    ctypes.memset(at, 1, 8 << 20)\nprint('never')", "oom"),
    ("R02", "fills shared mappings", SMALL, "import mmap\nm = mmap.mmap(-1, 1 << 30)\nfor n in range(0, 1 << 30, 4096): m[n] = 1\nprint('never')", "oom"),
    ("R05", "makes page tables instead of pages", SMALL, "import mmap\nm = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)\nfor n in range(0, 1 << 40, 1 << 21): m[n]\nprint('never')", "oom|exception|crashed"),
    ("R10", "takes memory in a child while the worker lives", SMALL, "import os\npid = os.fork()\nif pid == 0:\n    x = []\n    while True: x.append(b'x' * (1 << 20))\nprint(os.waitpid(pid, 0))", "oom|crashed"),
]  # fmt: skip
BOUNDED: list[Case] = [
    ("R02", "fills the disk", {"disk_mb": 64}, FILL + "fd = os.open('x', os.O_CREAT | os.O_WRONLY)\nimport signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nprint(until_refused(lambda n: os.write(fd, bytes(1 << 20))))", "ok: ENOSPC|ok: EFBIG"),
    ("R03", "opens descriptors without end", {}, FILL + "print(until_refused(lambda n: os.dup(0)))", "ok: EMFILE"),
    ("R03", "hides descriptors in messages", {}, FILL + "import socket, array\na, b = socket.socketpair()\na.setblocking(False)\nfds = array.array('i', [0] * 250)\nprint(until_refused(lambda n: a.sendmsg([b'x'], [(1, 1, fds)])))", "ok: ETOOMANYREFS|ok: EAGAIN"),
    ("R04", "makes files without end", {"disk_mb": 32}, FILL + "print(until_refused(lambda n: os.close(os.open(f'/tmp/{n}', os.O_CREAT))))", "ok: ENOSPC"),
    ("R04", "makes directories in directories", {"disk_mb": 32}, FILL + "def one(n):\n    os.mkdir('d'); os.chdir('d')\nprint(until_refused(one))", "ok: ENOSPC|ok: ENOENT"),
    ("R04", "makes hard links without end", {"disk_mb": 32}, FILL + "open('a', 'w')\nprint(until_refused(lambda n: os.link('a', f'l{n}')))", "ok: ENOSPC|ok: EMLINK"),
    ("R11", "makes inotify instances and watches", {}, FILL + "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\ndef one(n):\n    if libc.inotify_init() < 0: raise OSError(ctypes.get_errno(), '')\nprint(until_refused(one))", "ok: EMFILE"),
    ("R11", "makes timers without end", {}, FILL + "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nat = ctypes.create_string_buffer(8)\ndef one(n):\n    if libc.timer_create(1, None, at) < 0: raise OSError(ctypes.get_errno(), '')\nprint(until_refused(one))", "ok: EAGAIN"),
    ("R11", "queues signals without end", {}, FILL + "import ctypes, signal\nlibc = ctypes.CDLL(None, use_errno=True)\nsignal.pthread_sigmask(signal.SIG_BLOCK, [40])\ndef one(n):\n    if libc.sigqueue(os.getpid(), 40, None) < 0: raise OSError(ctypes.get_errno(), '')\nprint(until_refused(one))", "ok: EAGAIN"),
    ("P01", "forks without end", {"processes": 32}, FILL + "import signal\ndef one(n):\n    if os.fork() == 0:\n        os.setsid(); signal.pause()\nprint(until_refused(one))", "ok: EAGAIN"),
    ("P14", "starts threads without end", {"processes": 32}, FILL + "import threading\ne = threading.Event()\nprint(until_refused(lambda n: threading.Thread(target=e.wait, daemon=True).start()))\ne.set()", "ok: RuntimeError"),
    ("P19", "makes zombies without end", {"processes": 32}, FILL + "def one(n):\n    if os.fork() == 0: os._exit(0)\nprint(until_refused(one))", "ok: EAGAIN"),
    ("R05", "maps a million areas", {}, FILL + "import mmap\nkeep = []\ndef one(n):\n    keep.append(mmap.mmap(-1, 8192)); keep[-1].madvise(14) if n % 2 else None\n    if n > 70000: raise MemoryError\nprint(until_refused(one))", "ok: ENOMEM|ok: MemoryError|oom"),
    ("R13", "runs a program with a huge argument", {}, FILL + "import subprocess\nprint(until_refused(lambda n: subprocess.run(['/bin/true', 'x' * (1 << 20)])))", "ok: E2BIG"),
    ("R14", "sets up a stack of terminals", {}, FILL + "print(until_refused(lambda n: os.openpty()))", "ok: EMFILE|ok: ENOSPC|ok: ENOENT"),
]  # fmt: skip
# What never ends by itself: it must end with its time.
ENDLESS: list[Case] = [
    ("R09", "loops with the GIL held", {}, "sum(range(10**12))", "timeout"),
    ("R09", "computes 9**9**9", {}, "9**9**9", "timeout"),
    ("R09", "backtracks in a regular expression", {}, "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')", "timeout"),
    ("P05", "stops itself", {}, "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", "timeout"),
    ("P05", "stops all it reaches", {}, "import os, signal, subprocess\nps = [subprocess.Popen(['sleep', '99']) for _ in range(5)]\nos.kill(-1, signal.SIGSTOP); os.kill(os.getpid(), signal.SIGSTOP)", "timeout"),
    ("P13", "is deaf to signals", {}, "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True:\n    try: import time; time.sleep(99)\n    except BaseException: pass", "timeout"),
    ("P13", "catches every interrupt", {}, "def f():\n    try:\n        while True: pass\n    except BaseException: f()\n    finally: f()\nf()", "timeout|crashed|exception"),
    ("P20", "never returns from one system call", {}, "import ctypes\nctypes.CDLL(None).pause()", "timeout"),
    ("P20", "waits in vfork", {}, "import ctypes\nlibc = ctypes.PyDLL(None)\nlibc.syscall(58) or libc.pause()", "timeout|crashed"),
    ("P10", "closes its channel and goes on", {}, "import os\nos.closerange(3, 2000)\nwhile True: pass", "timeout|crashed"),
    ("P13", "hangs in a finaliser", {}, "class X:\n    def __del__(self):\n        while True: pass\nX()\nNone", "timeout"),
    ("P13", "hangs in the text of its result", {}, "class X:\n    def __repr__(self):\n        while True: pass\nX()", "timeout"),
    ("P13", "hangs in a trace function", {}, "import sys\ndef f(*a):\n    while True: pass\nsys.settrace(f)\ndef g(): pass\ng()", "timeout"),
    ("P13", "hangs in a callback of the collector", {}, "import gc\ndef f(*a):\n    while True: pass\ngc.callbacks.append(f)\ngc.collect()", "timeout"),
]  # fmt: skip
# Ends that a worker could lie about.
ENDS: list[Case] = [
    ("P09", "leaves by _exit", {}, "import os\nos._exit(0)", "crashed|exited"),
    ("P09", "reads at address 0", {}, "import ctypes\nctypes.string_at(0)", "crashed"),
    ("P09", "overflows its stack", {}, "import ctypes, sys, threading\nsys.setrecursionlimit(10**9)\nf = lambda: f()\nf()", "crashed|exception|oom|timeout"),
    ("P09", "aborts", {}, "import os\nos.abort()", "crashed"),
    ("P12", "becomes a shell", {}, "import os\nos.execv('/bin/sh', ['sh', '-c', 'exit 9'])", "crashed"),
    ("P04", "kills all it reaches", {}, "import os\nos.kill(-1, 9)", "exception"),
    ("K14", "makes an x32 call", {}, "import ctypes\nctypes.CDLL(None).syscall(39 | 0x40000000)", "crashed"),
    ("I01", "sends frames without sense", {}, "import socket\ns = socket.socket(fileno=1023)\nfor n in range(300):\n    s.send(bytes([n % 256]) * 4096)", "crashed"),
    ("I01", "sends huge lengths", {}, "import os\nos.write(1023, b'\\xff' * 64)\nimport time; time.sleep(5)", "crashed"),
    ("I06", "sends descriptors over its channel", {}, "import array, socket\ns = socket.socket(fileno=1023)\nfor _ in range(50): s.sendmsg([b'\\0' * 64], [(1, 1, array.array('i', [0] * 250))])\nimport time; time.sleep(5)", "crashed|exception"),
    ("I10", "never reads its channel", {}, "import os, socket\ns = socket.socket(fileno=os.dup(1023)); s.shutdown(socket.SHUT_RD)\n1", "ok|crashed"),
    ("I08", "finishes twice through a patched runtime", {}, "import sys\nfor m in list(sys.modules.values()):\n    if (getattr(m, '__name__', '') or '').startswith('vitrine_runtime'): m.__dict__.clear()\n1", "ok|crashed|exception|timeout"),
]  # fmt: skip


def verdict(execution: dict[str, Any]) -> str:
    words = execution["stdout"].split()
    return execution["outcome"] + (f": {words[-1]}" if words else "")


def launch(escape_server: EscapeServer, case: Case, seconds: float) -> tuple[dict[str, Any], float]:
    """The execution, and how long it took."""
    limits, code = case[2:4]
    with escape_server.session(**({"limits": limits} if limits else {})) as session:
        started = time.monotonic()
        ran = session.run(code, timeout_s=seconds)
        return ran, time.monotonic() - started


def judge(escape_server: EscapeServer, case: Case, ran: dict[str, Any]) -> None:
    number, title, _, _, expected = case
    seen = verdict(ran)
    plain = seen if seen in expected.split("|") else ran["outcome"]
    note(number, title, expected.replace("|", " "), plain, escape_server.mode)
    assert plain in expected.split("|"), ran


@functools.cache
def side_by_side(mode: str, seconds: float) -> dict[str, tuple[dict[str, Any], float]]:
    """All attacks that cost time more than anything else, at once; the neighbour is asked meanwhile."""
    escape_server = escape_server_of(mode)
    some = ENDLESS if seconds < 1 else ENDS
    tasks = {
        case[1]: Background(lambda case=case: launch(escape_server, case, seconds))  # type: ignore[misc]
        for case in some
    }
    while not all(task.is_over() for task in tasks.values()):
        escape_server.is_neighbour_well()
        time.sleep(0.05)
    return {title: task.result() for title, task in tasks.items()}


def cases(some: list[Case]) -> Any:
    return pytest.mark.parametrize("case", some, ids=lambda case: f"{case[0]} {case[1]}")


@cases(MEMORY)
def test_memory(checked_server: EscapeServer, case: Case) -> None:
    if checked_server.mode == "unprivileged":
        pytest.skip("needs root: memory is limited by cgroups")
    ran, took = launch(checked_server, case, 20)
    judge(checked_server, case, ran)
    assert took < 15


@cases(BOUNDED)
def test_bounds(checked_server: EscapeServer, case: Case) -> None:
    if checked_server.mode == "unprivileged" and case[0] in ("P01", "P14", "P19"):
        pytest.skip("needs root: processes are counted by cgroups")
    judge(checked_server, case, launch(checked_server, case, 20)[0])


@cases(ENDLESS)
def test_time(escape_server: EscapeServer, case: Case) -> None:
    ran, took = side_by_side(escape_server.mode, 0.5)[case[1]]
    judge(escape_server, case, ran)
    assert took < 10, "it ran on"


@cases(ENDS)
def test_ends(escape_server: EscapeServer, case: Case) -> None:
    judge(escape_server, case, side_by_side(escape_server.mode, 3.0)[case[1]][0])


def test_after_these_the_server_is_as_before(escape_server: EscapeServer) -> None:
    escape_server.is_as_before()


# --- What the kernel counts for the host's user --------------------------------------------------

BUFFERS = {
    "TCP": """
import socket
door = socket.create_server(('127.0.0.1', 0))
keep = []
for _ in range(100):
    one = socket.socket(); one.setsockopt(1, 7, 1 << 22); one.connect(door.getsockname())
    keep.append((one, door.accept())); one.setblocking(False)
    try:
        while True: one.send(bytes(1 << 16))
    except BlockingIOError: pass
""",
    "UDP": """
import socket
keep = [socket.socket(2, 2) for _ in range(400)]
for one in keep: one.bind(('127.0.0.1', 0)); one.setblocking(False)
for one in keep:
    for _ in range(4):
        try: keep[0].sendto(bytes(60000), one.getsockname())
        except OSError: pass
""",
}


def buffers_mb(protocol: str) -> float:
    """What this protocol holds on the whole machine."""
    for line in Path("/proc/net/sockstat").read_text().splitlines():
        if line.startswith(f"{protocol}:"):
            return int(line.split()[-1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    return 0.0


@pytest.mark.parametrize("protocol", BUFFERS)
def test_buffers_of_sockets_are_limited(checked_server: EscapeServer, protocol: str) -> None:
    if checked_server.mode == "unprivileged":
        pytest.skip("needs root: memory is limited by cgroups")
    with checked_server.session(limits=SMALL) as session:
        before = buffers_mb(protocol)
        ran = session.run(BUFFERS[protocol] + "None", timeout_s=20)
        held = buffers_mb(protocol) - before
        assert ran["outcome"] in ("ok", "oom"), ran
    note(
        "R16",
        f"fills buffers of {protocol}",
        "32 MiB",
        "32 MiB" if held < 48 else held,
        checked_server.mode,
    )
    assert held < 48, f"{held} MiB outside of its limit"


def test_inotify_is_left_to_others(checked_server: EscapeServer) -> None:
    code = (
        FILL
        + """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def one(n):
    if libc.inotify_init() < 0: raise OSError(ctypes.get_errno(), '')
    print(n + 1)
until_refused(one)
None
"""
    )
    everything = int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    with contextlib.ExitStack() as stack:
        sessions = [
            stack.enter_context(checked_server.session()) for _ in range(everything // 8 + 2)
        ]
        taken = [len(session.run(code)["stdout"].split()) for session in sessions]
    note("R17", "takes all inotify of the host's user", "4 each", max(taken), checked_server.mode)
    assert max(taken) <= 4 and taken[1] > 0
    assert sum(taken) <= everything // 2


def test_terminals_are_left_to_others(checked_server: EscapeServer) -> None:
    code = (
        FILL
        + "print(until_refused(lambda n: os.open('/dev/pts/ptmx', os.O_RDWR)))\nlen(os.listdir('/dev/pts'))"
    )
    with checked_server.session() as session:
        ran = session.run(code)
    note(
        "R18",
        "takes all terminals of the host",
        "ENOSPC",
        ran["stdout"].strip(),
        checked_server.mode,
    )
    assert ran["stdout"].strip() == "ENOSPC"
    assert int(ran["results"][0]["text/plain"]) <= 65


def test_the_server_is_not_reached_from_inside(checked_server: EscapeServer) -> None:
    code = f"""
import errno, socket
seen = []
for host in ('127.0.0.1', 'localhost', '0.0.0.0', '::1'):
    try: socket.create_connection((host, {checked_server.server.port}), 2); seen.append('connected')
    except OSError as error: seen.append(errno.errorcode.get(error.errno, str(error)))
door = socket.create_server(('0.0.0.0', 47113)); door.listen()
print(*seen)
"""
    with checked_server.session() as session:
        ran = session.run(code)
        assert ran["outcome"] == "ok", ran
        seen = set(ran["stdout"].split())
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", 47113), 2)
    note(
        "N01",
        "connects to the server from inside",
        "ECONNREFUSED",
        sorted(seen),
        checked_server.mode,
    )
    note("N10", "listens for the host", "not reached", "not reached", checked_server.mode)
    assert seen and seen <= {"ECONNREFUSED", "EADDRNOTAVAIL", "EACCES"}


# --- Output ----------------------------------------------------------------------------------------

OUTPUT = {
    "R06": ("floods stdout", "import os, time\nend = time.time() + 1\nwhile time.time() < end: os.write(1, b'x' * 65536)"),
    "R07": ("prints one line of 256 MiB", "import os\nfor _ in range(4096): os.write(2, b'x' * 65536)"),
    "R08": ("prints two million empty lines", "import os\nfor _ in range(100): os.write(1, b'\\n' * 20000)"),
    "R12": ("shows 400 results", "for n in range(400): display('x' * 100_000)"),
    "R15": ("fails with a huge error", "raise ValueError('x' * 50_000_000)"),
}  # fmt: skip


@pytest.mark.parametrize("number", OUTPUT)
def test_output_is_bounded(checked_server: EscapeServer, number: str) -> None:
    title, code = OUTPUT[number]
    before = checked_server.server.resident_kb()
    with checked_server.session() as session:
        answer = session.exec(code, timeout_s=20)
        assert answer.status == 200, answer
        size = len(answer.body)
        grown = checked_server.server.resident_kb() - before
    note(number, title, "bounded", "bounded" if size < 24 << 20 else size, checked_server.mode)
    assert size < 24 << 20
    assert grown < 64 * 1024, f"the front grew by {grown} KiB"


def test_escape_sequences_come_as_data(checked_server: EscapeServer) -> None:
    with checked_server.session() as session:
        ran = session.run("import os\nos.write(1, b'\\x1b]0;pwned\\x07\\xff\\x00\\x9b31m')\nNone")
    note("T14", "prints escape sequences and broken UTF-8", "data", "data", checked_server.mode)
    assert ran["stdout"] == "\x1b]0;pwned\x07\ufffd\x00\ufffd31m"


def test_a_history_of_another_session_is_not_found(checked_server: EscapeServer) -> None:
    with checked_server.session() as session:
        mine = session.run("'secret'")["id"]
        for path in (
            f"{checked_server.neighbour.path}/executions/{mine}",
            f"/v1/sessions/{'0' * 32}/executions/{mine}",
            f"/v1/sessions/{session.id.upper()}x/executions/{mine}",
            f"{checked_server.neighbour.path}/../{session.id}/executions/{mine}",
        ):
            assert checked_server.server.get(path).status in (400, 404), path
    assert checked_server.server.get(f"{session.path}/executions/{mine}").status == 404
    note("H02", "reads another session's history", "404", "404", checked_server.mode)


def test_daemons_end_with_their_session(checked_server: EscapeServer) -> None:
    code = """
import ctypes, os, signal
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        for n in range(1, 65):
            try: signal.signal(n, signal.SIG_IGN)
            except (OSError, ValueError): pass
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(1, 0)
            os.closerange(0, 1000)
            while True: signal.pause()
        os._exit(0)
"""
    session: Session
    with checked_server.session() as session:
        assert session.run(code)["outcome"] == "ok"
    note("P02", "leaves deaf daemons behind", "none left", "none left", checked_server.mode)
    # That none is left is what the count after every attack finds out.
    assert until(lambda: checked_server.server.get(session.path).status == 404, 5)
