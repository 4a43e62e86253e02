# SPDX-License-Identifier: Apache-2.0
"""Two sessions at once, and two one-shots in one recycled shell: neither finds the other."""

from __future__ import annotations

from typing import Any

import pytest
from attacks import attack, told
from client import Execution, Keeper, Session
from engine_keepers import KeeperProcess, both_modes, eventually

pytestmark = both_modes


@pytest.fixture
def pair(keeper: Keeper) -> tuple[Session, Session]:
    return keeper.create(), keeper.create()


def test_two_sessions_share_no_files(pair: tuple[Session, Session]) -> None:
    for place in ("/tmp/x", "/home/sandbox/x", "/dev/shm/x"):
        pair[0].run(f"open({place!r}, 'w').write('mine')")

    listed = pair[1].run(
        "import glob\nglob.glob('/tmp/*') + glob.glob('*') + glob.glob('/dev/shm/*')"
    )

    assert listed.texts == ["[]"]


def test_a_full_disk_is_not_the_neighbours(pair: tuple[Session, Session]) -> None:
    """[F20]"""
    filled = pair[0].run(
        "import os\nfds = [os.open(f'/dev/shm/{n}', os.O_CREAT | os.O_WRONLY) for n in (1, 2)]\n"
        "try:\n    while True:\n        for fd in fds: os.write(fd, bytes(1 << 20))\n"
        "except OSError as e: print(e.strerror)"
    )

    assert filled.stdout == b"No space left on device\n"
    assert pair[1].run("open('/dev/shm/x', 'wb').write(bytes(1 << 20))").texts == ["1048576"]


def test_two_sessions_share_no_ipc(pair: tuple[Session, Session]) -> None:
    pair[0].run(
        "import ctypes, socket\nlibc = ctypes.CDLL(None)\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('\\0shared'); s.listen()\n"
        "t = socket.create_server(('127.0.0.1', 5555))\n"
        "libc.shmget(77, 4096, 0o1666), libc.semget(77, 1, 0o1666)"
    )

    seen = pair[1].run(
        "import ctypes, errno, socket\nlibc = ctypes.CDLL(None)\nfound = []\n"
        "for family, address in ((1, '\\0shared'), (2, ('127.0.0.1', 5555))):\n"
        "    try: socket.socket(family).connect(address)\n"
        "    except OSError as e: found.append(errno.errorcode[e.errno])\n"
        "found, libc.shmget(77, 0, 0), libc.semget(77, 0, 0)"
    )

    assert seen.texts == ["(['ECONNREFUSED', 'ECONNREFUSED'], -1, -1)"]


def test_two_sessions_see_no_process_of_each_other(pair: tuple[Session, Session]) -> None:
    pair[0].run("import subprocess\np = subprocess.Popen(['sleep', '1000'])")

    seen = pair[1].run(
        "import os\n[p for p in os.listdir('/proc') if p.isdigit()], os.path.exists('/proc/3')"
    )

    assert seen.texts == ["(['2'], False)"]


def test_locks_on_files_of_the_image_are_ones_own(pair: tuple[Session, Session]) -> None:
    code = (
        "import fcntl, os\nfd = os.open('/usr/bin/python3', os.O_RDONLY)\n"
        "fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n'locked'"
    )

    assert [session.run(code).texts for session in pair] == [["'locked'"], ["'locked'"]]


def test_no_message_queue_can_be_made(pair: tuple[Session, Session]) -> None:
    code = (
        "import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "libc.syscall(240, b'queue', 0o102, 0o666, 0), errno.errorcode[ctypes.get_errno()]"
    )

    (answer,) = pair[0].run(code).texts

    assert answer in ("(-1, 'ENOSYS')", "(-1, 'EMFILE')", "(-1, 'EPERM')")


# --- One after the other -------------------------------------------------------------------------


def look(keeper: Keeper, variant: str = "bare") -> dict[str, Any]:
    with keeper.create(variant, "one_shot") as session:
        return told(attack(session, "residue", LOOK="1"))


def expect_nothing(left: dict[str, Any], fresh: dict[str, Any]) -> None:
    assert left["files"] == left["ipc"] == left["processes"] == left["ptys"] == left["unix"] == []
    assert (left["shm"], left["semaphores"]) == (-1, -1)
    assert left["abstract"] == "ECONNREFUSED"
    for same in ("limits", "umask", "nice", "environment", "used_disk", "groups"):
        assert left[same] == fresh[same], same


def test_nothing_of_a_one_shot_is_left_for_the_next(process: KeeperProcess, keeper: Keeper) -> None:
    fresh = look(keeper)
    for _ in range(2):
        with keeper.create(lifetime="one_shot") as first:
            kept = told(attack(first, "residue"))
            assert kept == {"shm": True, "semaphores": True, "kept": 3}
            assert eventually(lambda: len(process.named("daemonized")) == 3)
        assert process.named("daemonized") == []

        expect_nothing(look(keeper), fresh)


def test_no_connection_of_a_one_shot_is_seen_by_the_next(keeper: Keeper) -> None:
    with keeper.create(lifetime="one_shot") as first:
        told(attack(first, "residue"))

    left = look(keeper)

    assert (left["tcp"], left["bound"]) == ([], None)


def test_one_shots_are_given_recycled_shells(keeper: Keeper, mode: str) -> None:
    if mode == "unprivileged":
        pytest.skip("needs root: shells are recycled by a cgroup's means")
    with keeper.create(lifetime="one_shot") as first:
        first.run("1")
    before = keeper.info()["pools"]["recycled"]

    second = keeper.create(lifetime="one_shot")

    assert before >= 1 and keeper.info()["pools"]["recycled"] == before - 1
    assert second.source == "forked"
    assert second.run("import os\nos.getpid()").texts == ["2"], "its number tells of others"
    left = keeper.info()["pools"]["recycled"]
    third = keeper.create()
    assert keeper.info()["pools"]["recycled"] == left, "a session got a used shell"
    assert third.run("import os\nos.getpid()").texts == ["2"]


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(5)",
        "import ctypes; ctypes.string_at(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        "import os; os.closerange(0, 2000)",
        "import os; os.execv('/bin/sleep', ['sleep', '1000'])",
    ],
)
def test_a_one_shot_that_ends_badly_leaves_a_good_shell(keeper: Keeper, code: str) -> None:
    fresh = look(keeper)

    with keeper.create(lifetime="one_shot") as bad:
        bad.begin(code)

    expect_nothing(look(keeper), fresh)


SCRATCH = ("/tmp", "/dev/shm", "/home/sandbox")
WHICH_SCRATCH = "import os\nos.statvfs('/tmp').f_fsid"
FRESH_SCRATCH = """
import os, stat
seen = []
for path in ("/tmp", "/dev/shm", "/home/sandbox"):
    info = os.stat(path)
    seen.append((os.listdir(path), oct(info.st_mode), info.st_nlink, os.listxattr(path)))
seen
"""
# Each leaves something that a later one-shot could find.
TRACES = {
    "a file": "open({path!r} + '/x', 'w')",
    "a file with bytes": "open({path!r} + '/x', 'w').write('x')",
    "a hidden file": "open({path!r} + '/.x', 'w')",
    "a directory": "os.mkdir({path!r} + '/x')",
    "a link": "os.symlink('/', {path!r} + '/x')",
    "a fifo": "os.mkfifo({path!r} + '/x')",
    "a socket": "socket.socket(socket.AF_UNIX).bind({path!r} + '/x')",
    "a mode": "os.chmod({path!r}, 0o700)",
    "a mode that shuts out": "os.chmod({path!r}, 0)",
    "an attribute": "os.setxattr({path!r}, 'user.x', b'x')",
    "an access list": "os.setxattr({path!r}, 'system.posix_acl_default', acl)",
    "a flag": "fcntl.ioctl(os.open({path!r}, os.O_RDONLY), 0x40086602, struct.pack('i', 0x40))",
}
TRACES_ELSEWHERE = {
    "a file that was removed": "open('/tmp/x', 'w').write('x'); os.remove('/tmp/x')",
    "a file without a name": "os.close(os.open('/tmp', os.O_TMPFILE | os.O_RDWR))",
    "semaphores of libc": "import multiprocessing; keep = multiprocessing.Semaphore(1); "
    "open('/dev/shm/sem.x', 'w')",
}
TRACE_PREFACE = """
import ctypes, fcntl, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
acl = struct.pack("<I" + "HHI" * 3, 2, 1, 7, 2**32 - 1, 4, 5, 2**32 - 1, 32, 5, 2**32 - 1)
"""


def one_shot(keeper: Keeper, code: str) -> Execution:
    with keeper.create(lifetime="one_shot") as session:
        ran = session.run(code)
        assert ran.outcome == "ok", ran.error
        return ran


def traces() -> list[Any]:
    cases = [
        pytest.param(code.format(path=path), id=f"{name} in {path}")
        for name, code in TRACES.items()
        for path in SCRATCH
    ]
    return cases + [pytest.param(code, id=name) for name, code in TRACES_ELSEWHERE.items()]


def test_scratch_that_nobody_touched_serves_again(keeper: Keeper, mode: str) -> None:
    if mode == "unprivileged":
        pytest.skip("needs root: shells are recycled by a cgroup's means")
    used = []
    for code in ("1", "x = [0] * 10**6", "import json, os; os.listdir('/tmp')"):
        one_shot(keeper, code)
        used.append(one_shot(keeper, WHICH_SCRATCH).texts)

    assert used == [used[0]] * 3


@pytest.mark.parametrize("code", traces())
def test_scratch_with_the_least_trace_is_replaced(keeper: Keeper, code: str) -> None:
    fresh = one_shot(keeper, FRESH_SCRATCH).texts
    before = one_shot(keeper, WHICH_SCRATCH).texts

    one_shot(keeper, TRACE_PREFACE + code)

    assert one_shot(keeper, WHICH_SCRATCH).texts != before
    assert one_shot(keeper, FRESH_SCRATCH).texts == fresh


def test_one_shots_after_a_replaced_scratch_may_use_the_new_one(keeper: Keeper) -> None:
    for _ in range(3):
        one_shot(keeper, "open('/tmp/x', 'x').write('x')\nopen('/home/sandbox/y', 'x').write('y')")
        one_shot(keeper, "1")


def test_many_one_shots_leave_nothing(keeper: Keeper) -> None:
    for number in range(40):
        with keeper.create(lifetime="one_shot") as one:
            assert one.run(
                f"open('/tmp/x', 'x').write('{number}')\nopen('/tmp/x').read()"
            ).texts == [f"'{number}'"]
