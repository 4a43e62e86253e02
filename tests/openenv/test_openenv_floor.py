# SPDX-License-Identifier: Apache-2.0
"""--isolation-floor container: where namespaces are forbidden, as in a stock `docker run`."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from floored import Floored
from openenv.core import GenericEnvClient
from served import BUILD, within

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or platform.machine() != "x86_64",
    reason="a container is imitated by root, with the call numbers of x86-64",
)


@pytest.fixture(scope="module")
def floored() -> Iterator[Floored]:
    one = Floored()
    assert one.ready, one.log()
    yield one
    one.end()


def refused(floored: Floored, session: str, code: str, *errors: str) -> None:
    execution = floored.run(session, code)
    assert execution["outcome"] == "exception", (code, execution)
    assert execution["error"]["name"] in errors, (code, execution)


def test_stock_clients_work_unchanged(floored: Floored) -> None:
    with GenericEnvClient(base_url=floored.url).sync() as env:
        env.reset()
        env.step({"code": "x = 41"})
        result = env.step({"code": "import numpy as np\nprint(np.arange(3).sum())\nx + 1"})

    assert result.observation["stdout"] == "3\n42"
    assert result.observation["exit_code"] == 0


def test_it_says_what_is_missing_everywhere(floored: Floored) -> None:
    isolation = floored.call("GET", "/v1/info")[1]["isolation"]
    log = floored.log()

    assert isolation["level"] == "container" and isolation["floor"] == "container"
    assert isolation["limits_level"] == "best_effort"
    assert isolation["best_effort"] == ["memory_mb", "cpus", "disk_mb"]
    assert "limits: best effort: memory_mb, cpus, disk_mb" in log
    assert any("per process" in one for one in isolation["lost"])
    assert "isolation: container, weaker than full: this host lacks user namespaces" in log
    for one in isolation["lost"]:
        assert one in log
    assert "--auth none" in log


def test_without_being_asked_it_refuses_to_start() -> None:
    one = Floored(floor="full")
    try:
        assert not one.ready
        assert one.process.wait(60) != 0
        assert "user namespace" in one.log()
    finally:
        one.end()


def test_the_doctor_tells_it() -> None:
    words = [sys.executable, Path(__file__).with_name("confine.py"), BUILD / "bin" / "vitrine"]
    answer = subprocess.run([*words, "doctor", "--json"], capture_output=True, text=True)
    found = json.loads(answer.stdout)
    checks = {one["name"]: one for one in found["checks"]}

    assert answer.returncode == 1
    assert found["limits_level"] == "best_effort"
    assert checks["user namespaces"]["state"] == "missing"
    assert "memory is limited per process" in checks["container floor"]["detail"]
    assert "--isolation-floor container" in checks["container floor"]["remedy"]


def test_any_step_that_fails_ends_the_session_before_it_begins(tmp_path: Path) -> None:
    """Every system call of a shell, then every one of a worker, fails once."""
    faults = tmp_path / "faults"
    faults.write_text("0 0")
    one = Floored(keeper=("--faults", str(faults)))
    try:
        assert one.ready, one.log()
        for place in ("{} 0", "0 {}"):
            failed = 0
            while True:
                faults.write_text(place.format(failed + 1))
                # Other than default limits: nothing that waits in a pool will do.
                status, body = one.call("POST", "/v1/sessions", {"limits": {"memory_mb": 300}})
                if status == 201:
                    break
                assert status in (500, 503) and body["code"], body
                failed += 1
            assert failed >= (5 if place == "{} 0" else 30), (place, failed, body)
            assert one.call("DELETE", f"/v1/sessions/{body['id']}")[0] == 204
        faults.write_text("0 0")
        assert one.run(one.session(), "6 * 7")["results"] == [{"text/plain": "42"}]
    finally:
        one.end()


def test_a_floor_that_does_not_exist_is_refused() -> None:
    words = ["serve", "--isolation-floor", "weak"]
    answer = subprocess.run([BUILD / "bin" / "vitrine", *words], capture_output=True, text=True)
    assert answer.returncode == 2
    assert "neither full nor container" in answer.stderr


def test_code_works_as_elsewhere(floored: Floored) -> None:
    session = floored.session()
    for code, expected in {
        "import tempfile, os\nwith tempfile.TemporaryFile('w') as f: f.write('x')\nprint('t')": "t\n",
        "open('a.txt', 'w').write('hi'); print(open(os.path.expanduser('~/a.txt')).read())": "hi\n",
        "!echo from a shell; cat a.txt": "from a shell\nhi",
        "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print(5)']))":
            "b'5\\n'\n",
        "import asyncio\nawait asyncio.sleep(0)\nprint('a')": "a\n",
        "import threading\nt = threading.Thread(target=print, args=('th',))\nt.start(); t.join()":
            "th\n",
    }.items():  # fmt: skip
        execution = floored.run(session, code)
        assert execution["stdout"] == expected, execution
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    assert "image/png" in floored.run(session, plot)["results"][0]

    status, listed = floored.call("GET", f"/v1/sessions/{session}/files?path=")
    assert status == 200 and [one["name"] for one in listed["files"]] == ["a.txt"]
    assert floored.call("DELETE", f"/v1/sessions/{session}")[0] == 204


def test_sessions_do_not_reach_each_other(floored: Floored) -> None:
    victim, attacker = floored.session(), floored.session()
    told = floored.run(
        victim, "import os\nopen('s', 'w').write('x')\nprint(os.getcwd(), os.getpid())"
    )
    home, pid = told["stdout"].split()

    for code in (f"open('{home}/s').read()", f"import os; os.listdir('{home}')",
                 "import os; os.listdir('/home/sandbox')", f"open('{home}/s', 'w')",
                 f"import os; os.kill({pid}, 9)", "import os; os.kill(1, 9)",
                 f"import os; os.setpriority(os.PRIO_PROCESS, {pid}, 19)",
                 f"import resource; resource.prlimit({pid}, resource.RLIMIT_NOFILE, (1, 1))",
                 f"import os; os.sched_setaffinity({pid}, [0])"):  # fmt: skip
        refused(floored, attacker, code, "PermissionError", "ProcessLookupError")
    assert floored.run(attacker, "import os\nos.kill(-1, 9)")["outcome"] != "policy"

    assert floored.run(victim, "open('s').read()")["results"] == [{"text/plain": "'x'"}]
    for session in (victim, attacker):
        floored.call("DELETE", f"/v1/sessions/{session}")


def test_nothing_of_the_container_can_be_reached(floored: Floored) -> None:
    session = floored.session()
    denied = ("PermissionError", "FileNotFoundError", "OSError", "NotADirectoryError")
    for code in ("open('/proc/1/environ')", "open('/etc/passwd', 'a')", "open('/usr/x', 'w')",
                 "open('/tmp/x', 'w')", "open('/dev/shm/x', 'w')", "open('/etc/shadow')",
                 "import os; os.setuid(0)", "import os; os.chroot('.')",
                 "import os; os.mknod('d', 0o20666, os.makedev(1, 1))",
                 "import socket; socket.socket()",
                 "import socket; socket.socket(socket.AF_UNIX)",
                 "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
                 "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
                 "import socket; socket.create_connection(('127.0.0.1', 1))"):  # fmt: skip
        refused(floored, session, code, *denied)
    shared = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.shmget(7, 4096, 0o1666), libc.semget(7, 1, 0o1666), libc.inotify_init())"
    )
    assert floored.run(session, shared)["stdout"] == "-1 -1 -1\n"
    status = floored.run(session, "import os; print(os.getgroups(), os.getuid() == os.getgid())")
    assert status["stdout"] == "[] True\n"
    floored.call("DELETE", f"/v1/sessions/{session}")


def test_memory_ends_in_an_exception_and_processes_are_counted(floored: Floored) -> None:
    session = floored.session(limits={"memory_mb": 512, "processes": 32})

    execution = floored.run(session, "x = bytearray(2 << 30)")
    assert execution["outcome"] == "exception" and execution["error"]["name"] == "MemoryError"
    assert execution["state_kept"]
    bomb = (
        "import os, time\nn = 0\ntry:\n    while True:\n        if os.fork() == 0:\n"
        "            time.sleep(600); os._exit(0)\n        n += 1\n"
        "except OSError as e: print(type(e).__name__, n < 32)"
    )
    assert floored.run(session, bomb)["stdout"] == "BlockingIOError True\n"
    assert floored.call("DELETE", f"/v1/sessions/{session}")[0] == 204


def test_time_is_enforced(floored: Floored) -> None:
    session = floored.session()

    execution = floored.run(session, "while True: pass", timeout_s=1)
    assert execution["outcome"] == "timeout" and execution["state_kept"]
    deaf = "import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass"
    execution = floored.run(session, deaf, timeout_s=1)
    assert execution["outcome"] == "timeout" and not execution["state_kept"]
    floored.call("DELETE", f"/v1/sessions/{session}")


DAEMONS = (
    "import os, signal, time, ctypes\nctypes.CDLL(None).prctl(1, 0)\n"
    "for n in range(8):\n    if os.fork() == 0:\n        os.setsid()\n"
    "        for s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\n"
    "        if os.fork() == 0: time.sleep(600)\n        time.sleep(600); os._exit(0)\n"
    "print(os.getcwd(), os.getuid())"
)


def test_nothing_is_left_after_delete(floored: Floored) -> None:
    session = floored.session()
    home, user = floored.run(session, DAEMONS)["stdout"].split()

    def mine() -> list[int]:
        return [pid for pid, owner in floored.processes().items() if owner == int(user)]

    assert len(mine()) >= 9
    deep = "import os\nfor _ in range(500):\n    os.mkdir('d'); os.chdir('d')\nos.chmod('.', 0)"
    floored.run(session, deep)

    assert floored.call("DELETE", f"/v1/sessions/{session}")[0] == 204

    # The id may belong to a waiting worker already, but to none of these.
    assert len(mine()) <= 1
    assert not (floored.image / "root" / home.lstrip("/")).parent.exists()


def test_no_session_is_left_without_its_warden(floored: Floored) -> None:
    session = floored.session()
    floored.run(session, "x = 1")
    before = floored.wardens()
    for pid in before:
        os.kill(pid, signal.SIGKILL)

    def replaced() -> bool:
        now = set(floored.wardens())
        return len(now) >= len(before) and not now & set(before)

    assert within(replaced), floored.log()
    assert floored.run(session, "x")["results"] == [{"text/plain": "1"}]
    assert floored.call("DELETE", f"/v1/sessions/{session}")[0] == 204


def test_nothing_is_left_after_the_keeper_was_killed() -> None:
    one = Floored(init=True)
    try:
        assert one.ready, one.log()
        one.run(one.session(), DAEMONS)
        assert len(one.sessions()) >= 9

        os.kill(one.keeper(), signal.SIGKILL)

        assert within(lambda: not one.sessions()), one.processes()
        assert within(lambda: one.process.poll() is not None), "somebody is left in the container"
        one.start()
        assert one.ready, one.log()
        assert one.run(one.session(), "6 * 7")["results"] == [{"text/plain": "42"}]
        one.stop()
        assert not list(one.homes.iterdir())
    finally:
        one.end()
