# SPDX-License-Identifier: Apache-2.0
"""Limits: each is enforced, by itself and as asked for, and the next session is as good as new."""

from __future__ import annotations

import dataclasses

import pytest
from client import Keeper, KeeperError, Session
from engine_keepers import both_modes, eventually, only_root

import wire

MIB = 1 << 20


def limits(**changes: int) -> wire.Limits:
    return dataclasses.replace(wire.Limits(), **changes)


# --- processes -----------------------------------------------------------------------------------

FORKS = """
import errno, os, time
children, failure = [], None
while failure is None and len(children) < 3000:
    try:
        pid = os.fork()
    except OSError as error:
        failure = errno.errorcode[error.errno]
        break
    if pid == 0:
        time.sleep(1000)
        os._exit(0)
    children.append(pid)
for pid in children:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
failure, len(children)
"""


@both_modes
@pytest.mark.parametrize("processes", [4, 20, 64])
def test_no_more_processes_than_allowed(keeper: Keeper, processes: int) -> None:
    session = keeper.create(limits=limits(processes=processes))

    ran = session.run(FORKS)

    failure, count = eval(ran.texts[0])
    assert failure == "EAGAIN"
    assert processes - 2 <= count <= processes + 3  # the worker counts; the keeper adds some air
    assert session.run("1").texts == ["1"]


@both_modes
def test_a_fork_bomb_is_contained_and_the_next_session_is_fine(keeper: Keeper) -> None:
    bomb = keeper.create()
    exploding = bomb.begin("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")

    neighbour = keeper.create()
    calm = neighbour.run("import subprocess\nsubprocess.getoutput('echo calm')")
    bomb.kill()
    bomb.wait(exploding)

    assert calm.texts == ["'calm'"]
    assert exploding.outcome == "killed"
    bomb.end()
    assert keeper.create().run("import subprocess\nsubprocess.getoutput('echo on')").texts == [
        "'on'"
    ]


@both_modes
def test_a_storm_of_threads_is_an_exception(session: Session) -> None:
    ran = session.run(
        "import threading\ngo = threading.Event()\nstarted = 0\n"
        "try:\n    for _ in range(10_000): threading.Thread(target=go.wait).start(); started += 1\n"
        "except RuntimeError as e: failure = str(e)\n"
        "go.set()\nfor t in threading.enumerate():\n"
        "    if t is not threading.main_thread(): t.join()\n"
        "failure, started < 70"
    )

    assert ran.texts == ['("can\'t start new thread", True)']
    assert session.run("1").texts == ["1"]


# --- disk ----------------------------------------------------------------------------------------

FILL = """
import errno, os
def fill(path, chunk=1 << 16):
    done = 0
    fd = os.open(path, os.O_CREAT | os.O_WRONLY)
    while True:
        try:
            done += os.write(fd, bytes(chunk))
        except OSError as error:
            if chunk > 1:
                chunk //= 2
                continue
            os.close(fd)
            return done, errno.errorcode[error.errno]
"""


@both_modes
@pytest.mark.parametrize("disk", [1, 8])
def test_the_disk_quota_is_exact_and_one_for_all_places(keeper: Keeper, disk: int) -> None:
    session = keeper.create(limits=limits(disk_bytes=disk * MIB))
    quarter = disk * MIB // 4
    session.run(FILL)

    ran = session.run(
        f"for path in ('/tmp/a', '/dev/shm/b', 'c'): open(path, 'wb').write(bytes({quarter}))\n"
        "fill('/tmp/d')"
    )

    assert ran.texts == [f"({quarter}, 'ENOSPC')"], ran.error
    assert session.run("import os\nos.unlink('/dev/shm/b')\nfill('more')").texts == [
        f"({quarter}, 'ENOSPC')"
    ]
    assert session.run("1").texts == ["1"]


@both_modes
def test_deleted_but_open_files_count(keeper: Keeper) -> None:
    session = keeper.create(limits=limits(disk_bytes=4 * MIB))
    session.run(FILL + "f = open('x', 'wb'); f.write(bytes(3 << 20)); f.flush(); os.unlink('x')")

    assert session.run("fill('y')").texts == [f"({MIB}, 'ENOSPC')"]


@both_modes
def test_the_number_of_files_is_limited(keeper: Keeper) -> None:
    session = keeper.create(limits=limits(disk_bytes=MIB))

    ran = session.run(
        "import errno\ncount = 0\n"
        "try:\n    while count < 100_000: open(f'{count}', 'w').close(); count += 1\n"
        "except OSError as e: failure = errno.errorcode[e.errno]\n"
        "failure, count"
    )

    failure, count = eval(ran.texts[0])
    assert failure == "ENOSPC"
    assert 500 < count <= 1024 + 256


@both_modes
def test_a_file_cannot_be_longer_than_the_disk(session: Session) -> None:
    ran = session.run(
        "import errno, os\nfd = os.open('sparse', os.O_CREAT | os.O_RDWR)\nfound = []\n"
        "for act in (lambda: os.ftruncate(fd, 1 << 40), lambda: os.pwrite(fd, b'x', 1 << 39),\n"
        "            lambda: os.posix_fallocate(fd, 0, 1 << 39)):\n"
        "    try: found.append(act())\n"
        "    except OSError as e: found.append(errno.errorcode[e.errno])\n"
        "found"
    )

    assert ran.texts == ["['EFBIG', 'EFBIG', 'EFBIG']"]


# --- memory --------------------------------------------------------------------------------------

HOG = "x = []\nwhile True: x.append(b'x' * (1 << 20))"


@only_root
@pytest.mark.parametrize(
    "code",
    [
        HOG,
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {HOG!r}])\n'lives on'",
        f"import os\nif os.fork() == 0:\n    {HOG.replace(chr(10), chr(10) + '    ')}\nos.wait()",
        f"import threading\nt = threading.Thread(target=exec, args=({HOG!r}, {{}}))\n"
        "t.start(); t.join()",
        "import mmap\nm = mmap.mmap(-1, 4 << 30)\nfor i in range(0, 4 << 30, 4096): m[i] = 1",
        "import os\nwhile True: os.write(os.memfd_create('x'), bytes(1 << 20))",
    ],
    ids=["worker", "subprocess", "forked child", "thread", "anonymous map", "memfds"],
)
def test_out_of_memory_is_the_kernels_verdict_on_the_whole_session(
    keeper: Keeper, code: str
) -> None:
    session = keeper.create(limits=limits(memory_bytes=48 * MIB, disk_bytes=MIB))
    neighbour = keeper.create()

    ran = session.run(code)
    session.wait_for_death(ran, limit=10)

    assert (ran.outcome, ran.death) == ("oom", ("oom", 9))
    assert session.is_dead()
    assert neighbour.run("1").texts == ["1"]


@only_root
def test_an_execution_that_lost_a_child_to_the_kernel_is_never_called_ok(keeper: Keeper) -> None:
    """The worker may finish before the keeper hears of it: who then asks the keeper, as every
    client does when it calls off the deadline, must be told."""
    for _ in range(5):
        session = keeper.create(limits=limits(memory_bytes=48 * MIB, disk_bytes=MIB))
        code = (
            f"import os\npid = os.fork()\nif pid == 0: exec({HOG!r}, {{}})\nos.waitpid(pid, 0)[1]"
        )

        ran = session.run(code, timeout=60)

        assert (ran.outcome, ran.state_kept) == ("oom", False)
        session.end()


@pytest.mark.parametrize("mode", ["unprivileged"])
def test_without_cgroups_too_much_memory_is_an_exception(keeper: Keeper) -> None:
    if keeper.info()["isolation"]["memory"] == "cgroup":
        pytest.skip("this host gives cgroups to ordinary users")
    session = keeper.create(limits=limits(memory_bytes=96 * MIB))

    ran = session.run(HOG)

    assert ran.outcome == "exception"
    assert ran.error is not None and ran.error["name"] == "MemoryError"
    assert session.run("x = None\n1").texts == ["1"]


@only_root
def test_files_do_not_eat_the_memory(keeper: Keeper) -> None:
    session = keeper.create(limits=limits(memory_bytes=48 * MIB, disk_bytes=64 * MIB))

    ran = session.run("open('big', 'wb').write(bytes(60 << 20))\nx = bytes(20 << 20)\nlen(x)")

    assert (ran.outcome, ran.texts) == ("ok", [str(20 * MIB)])


@only_root
def test_usage_is_measured_by_the_kernel(session: Session) -> None:
    before = session.usage()
    session.run("x = b'x' * (100 << 20)\nfor i in range(3_000_000): pass")
    after = session.usage()

    assert after["memory_peak"] - before["memory_now"] > 90 * MIB
    assert after["cpu_us"] > before["cpu_us"]


# --- the others ----------------------------------------------------------------------------------


@only_root
def test_the_cpu_quota_slows_a_session_down(keeper: Keeper) -> None:
    session = keeper.create(limits=limits(cpu_permille=100))

    ran = session.run(
        "import time\nstart = time.monotonic()\nwhile time.monotonic() < start + 1: pass\n"
        "time.process_time()"
    )
    used = session.usage()["cpu_us"]

    assert float(ran.texts[0]) < 0.6
    assert used < 800_000


@both_modes
def test_descriptors_and_other_resources_are_limited(session: Session) -> None:
    opened = session.run(
        "import errno, os\nfds = []\n"
        "try:\n    while len(fds) < 5000: fds.append(os.dup(0))\n"
        "except OSError as e: failure = errno.errorcode[e.errno]\n"
        "for fd in fds: os.close(fd)\n"
        "failure, len(fds)"
    )
    rlimits = session.run(
        "import resource as r\n"
        "[r.getrlimit(k)[1] for k in (r.RLIMIT_CORE, r.RLIMIT_NOFILE, r.RLIMIT_MEMLOCK,"
        " r.RLIMIT_MSGQUEUE, r.RLIMIT_RTPRIO)]"
    )

    failure, count = eval(opened.texts[0])
    assert failure == "EMFILE" and 1000 < count < 1024
    assert rlimits.texts == ["[0, 1024, 65536, 0, 0]"]


@both_modes
@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(wire.Limits)])
@pytest.mark.parametrize("kind", ["zero", "absurd"])
def test_a_limit_of_zero_or_absurd_size_is_refused_with_a_remedy(
    keeper: Keeper, field: str, kind: str
) -> None:
    width = 32 if field in ("cpu_permille", "processes") else 62

    with pytest.raises(KeeperError) as refused:
        keeper.create(limits=limits(**{field: 0 if kind == "zero" else (1 << width) - 1}))

    assert (refused.value.code, bool(refused.value.remedy)) == ("invalid_argument", True)
    assert field.partition("_")[0] in refused.value.message
    assert eventually(lambda: every_shell_waits(keeper))


def every_shell_waits(keeper: Keeper) -> bool:
    """No session, and no shell but those of the pools."""
    info = keeper.info()
    return info["sessions"] == 0 and info["shells"] == sum(info["pools"].values())


@both_modes
def test_the_largest_limits_work(keeper: Keeper) -> None:
    session = keeper.create(
        limits=wire.Limits(
            memory_bytes=1 << 40,
            cpu_permille=1_024_000,
            processes=32_768,
            disk_bytes=1 << 40,
            output_bytes=64 * MIB,
            exec_ms=86_400_000,
            idle_ms=30 * 86_400_000,
        )
    )

    assert session.run("1").texts == ["1"]


@both_modes
def test_the_smallest_limits_work(keeper: Keeper) -> None:
    session = keeper.create(
        limits=wire.Limits(
            memory_bytes=16 * MIB,
            cpu_permille=10,
            processes=4,
            disk_bytes=MIB,
            output_bytes=1024,
            exec_ms=1,
            idle_ms=1000,
        )
    )

    assert session.run("1").texts == ["1"]
