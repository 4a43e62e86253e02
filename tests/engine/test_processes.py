# SPDX-License-Identifier: Apache-2.0
"""Threads, event loops and processes that user code starts: each behaves as in a plain Python."""

from __future__ import annotations

import signal

import pytest
from client import Keeper, Session
from engine_keepers import KeeperProcess, both_modes, eventually

import wire

WORK = "def work(n):\n    return n * n\n"


def test_threads_run_and_share_the_namespace(session: Session) -> None:
    session.run(
        "import threading\nresults = []\n"
        "threads = [threading.Thread(target=lambda i=i: results.append(i)) for i in range(20)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()"
    )

    assert session.run("sorted(results) == list(range(20))").texts == ["True"]


def test_a_thread_lives_on_between_executions(session: Session) -> None:
    session.run(
        "import queue, threading\nq, out = queue.Queue(), queue.Queue()\n"
        "def loop():\n    while True: out.put(q.get() + 1)\n"
        "threading.Thread(target=loop, daemon=True).start()"
    )

    session.run("q.put(41)")

    assert session.run("out.get(timeout=30)").texts == ["42"]


def test_an_exception_in_a_thread_is_told_on_stderr_with_user_lines(session: Session) -> None:
    ran = session.run(
        "import threading\ndef f():\n    1 / 0\nt = threading.Thread(target=f)\nt.start(); t.join()"
    )

    assert ran.outcome == "ok"
    assert b"ZeroDivisionError" in ran.stderr and b"<cell 1>" in ran.stderr
    assert b"vitrine" not in ran.stderr


def test_thread_and_process_pools_work(session: Session) -> None:
    ran = session.run(
        WORK + "from concurrent.futures import ThreadPoolExecutor, ProcessPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool: a = list(pool.map(work, range(5)))\n"
        "with ProcessPoolExecutor(2) as pool: b = list(pool.map(work, range(5)))\n"
        "a, b"
    )

    assert ran.texts == ["([0, 1, 4, 9, 16], [0, 1, 4, 9, 16])"], ran.error


@both_modes
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_runs_functions_of_the_session(keeper: Keeper, method: str) -> None:
    session = keeper.create()
    session.run(WORK + "import multiprocessing as mp")

    ran = session.run(
        f"context = mp.get_context({method!r})\n"
        "with context.Pool(2) as pool: squares = pool.map(work, range(4))\n"
        "q = context.Queue()\n"
        "p = context.Process(target=q.put, args=('from the child',))\n"
        "p.start(); text = q.get(timeout=60); p.join()\n"
        "squares, text, p.exitcode"
    )

    assert ran.texts == ["([0, 1, 4, 9], 'from the child', 0)"], (ran.error, ran.stderr)
    assert session.run("1").texts == ["1"]


def test_multiprocessing_shares_memory_locks_and_values(session: Session) -> None:
    ran = session.run(
        "import multiprocessing as mp\nfrom multiprocessing import shared_memory\n"
        "mp.set_start_method('fork')\n"
        "value, lock = mp.Value('i', 0), mp.Lock()\n"
        "block = shared_memory.SharedMemory(create=True, size=16)\n"
        "def add():\n"
        "    for _ in range(100):\n"
        "        with lock: value.value += 1\n"
        "    block.buf[0] = 7\n"
        "children = [mp.Process(target=add) for _ in range(3)]\n"
        "for c in children: c.start()\n"
        "for c in children: c.join()\n"
        "seen = value.value, block.buf[0]\n"
        "block.close(); block.unlink()\n"
        "seen"
    )

    assert ran.texts == ["(300, 7)"], ran.error


def test_subprocesses_give_their_output_and_status(session: Session) -> None:
    ran = session.run(
        "import subprocess, sys\n"
        "a = subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True)\n"
        "b = subprocess.run('exit 5', shell=True)\n"
        "c = subprocess.Popen(['cat'], stdin=-1, stdout=-1).communicate(b'through')[0]\n"
        "a.stdout, b.returncode, c"
    )

    assert ran.texts == ["('42\\n', 5, b'through')"], ran.error


def test_a_subprocess_holds_no_descriptor_of_the_session(session: Session) -> None:
    ran = session.run("!ls /proc/self/fd")

    assert ran.stdout.split() == [b"0", b"1", b"2", b"3"]  # 3 is the listing itself


def test_asyncio_subprocesses_and_streams_work(session: Session) -> None:
    ran = session.run(
        "import asyncio\n"
        "async def echo(reader, writer):\n"
        "    writer.write(await reader.readline()); writer.close()\n"
        "server = await asyncio.start_server(echo, '127.0.0.1', 0)\n"
        "port = server.sockets[0].getsockname()[1]\n"
        "reader, writer = await asyncio.open_connection('127.0.0.1', port)\n"
        "writer.write(b'hello\\n')\n"
        "line = await reader.readline()\n"
        "child = await asyncio.create_subprocess_exec('echo', 'child', stdout=-1)\n"
        "out, _ = await child.communicate()\n"
        "server.close()\n"
        "line, out"
    )

    assert ran.texts == ["(b'hello\\n', b'child\\n')"], ran.error


def test_a_forked_child_that_runs_past_the_code_ends_there(
    process: KeeperProcess, session: Session
) -> None:
    ran = session.run(
        "import os\nimport ctypes; ctypes.CDLL(None).prctl(15, b'forking')\n"
        "pid = os.fork()\nprint('child' if pid == 0 else 'parent', flush=True)\nx = pid"
    )
    waited = session.run("os.waitpid(pid, 0)[1]")

    assert (ran.outcome, len(ran.bodies(wire.FINISHED))) == ("ok", 1)
    assert sorted((ran.stdout + waited.stdout).split()) == [b"child", b"parent"]
    assert waited.texts == ["0"]
    assert len(process.named("forking")) == 1


def test_a_forked_child_that_fails_tells_only_stderr(session: Session) -> None:
    ran = session.run(
        "import os\npid = os.fork()\nif pid == 0: raise ValueError('in the child')\n"
        "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"
    )

    assert (ran.outcome, ran.texts, ran.error) == ("ok", ["1"], None)
    assert b"ValueError: in the child" in ran.stderr and b"vitrine" not in ran.stderr


def test_a_forked_child_cannot_speak_for_the_session(session: Session) -> None:
    ran = session.run(
        "import os\npid = os.fork()\n"
        "if pid == 0:\n"
        "    try: os.fstat(1023); os._exit(1)\n"
        "    except OSError: os._exit(0)\n"
        "os.waitpid(pid, 0)[1]"
    )

    assert ran.texts == ["0"]


def test_a_forked_child_that_shows_results_is_not_heard(session: Session) -> None:
    ran = session.run(
        "import os\npid = os.fork()\n"
        "if pid == 0:\n    display('from the child')\n"
        "else:\n    os.waitpid(pid, 0)\n'parent'"
    )

    assert ran.texts == ["'parent'"]
    assert ran.lie is None


def test_children_that_end_leave_no_zombie_behind_their_wait(session: Session) -> None:
    ran = session.run(
        "import os, subprocess\n"
        "for _ in range(100): subprocess.run(['true'])\n"
        "[p for p in os.listdir('/proc') if p.isdigit() and int(p) > 2]"
    )

    assert ran.texts == ["[]"]


def test_orphans_are_reaped_by_the_session_itself(session: Session) -> None:
    ran = session.run(
        "import os, subprocess\n"
        "for _ in range(300): subprocess.run('true & true &', shell=True)\n"
        "'done'"
    )

    assert ran.texts == ["'done'"], ran.error
    assert session.run("import subprocess\nsubprocess.getoutput('echo ok')").texts == ["'ok'"]


# Runs as `name` until it is killed: the host sees that name, and no signal but SIGKILL ends it.
DAEMON = (
    "import os, subprocess\n"
    "def start(name):\n"
    "    subprocess.run(['cp', '/usr/bin/sleep', name], check=True)\n"
    "    shell = f'trap \"\" TERM HUP INT QUIT; exec ./{name} 1000'\n"
    "    daemon = subprocess.Popen(['sh', '-c', shell], start_new_session=True)\n"
    "    while open(f'/proc/{daemon.pid}/comm').read() != f'{name}\\n': pass\n"
)


def test_a_background_process_lives_until_the_session_ends(
    process: KeeperProcess, keeper: Keeper
) -> None:
    session = keeper.create()
    session.run(DAEMON + "start('background')")

    assert session.run("1").texts == ["1"]
    assert len(process.named("background")) == 1
    session.end()

    assert not process.named("background")


def test_the_worker_dies_and_its_children_with_it(process: KeeperProcess, session: Session) -> None:
    session.run(DAEMON + "start('left-behind')")
    assert len(process.named("left-behind")) == 1

    session.run("os._exit(3)")

    assert eventually(lambda: not process.named("left-behind"), 5.0)


@pytest.mark.parametrize(
    "code",
    [
        "import signal; signal.signal(signal.SIGALRM, lambda *_: print('rang')); signal.alarm(1);"
        " signal.pause()",
        "import signal; signal.signal(signal.SIGUSR1, lambda *_: print('rang'));"
        " signal.raise_signal(signal.SIGUSR1)",
        "import threading; threading.Timer(0.01, print, ['rang']).start();"
        " [t.join() for t in threading.enumerate() if t is not threading.main_thread()]",
    ],
)
def test_signals_and_timers_of_user_code_work(session: Session, code: str) -> None:
    assert session.run(code).stdout == b"rang\n"


@both_modes
def test_signals_ignored_by_the_keepers_parent_are_not_inherited(session: Session) -> None:
    own = masks(session.run("print(open('/proc/self/status').read())").stdout)
    child = masks(session.run("!cat /proc/self/status").stdout)

    by_python = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)
    assert own == {"SigBlk": 0, "SigIgn": by_python}
    assert child == {"SigBlk": 0, "SigIgn": 0}


def masks(status: bytes) -> dict[str, int]:
    fields = dict(line.split(":\t", 1) for line in status.decode().splitlines() if ":\t" in line)
    return {name: int(fields[name], 16) for name in ("SigBlk", "SigIgn")}


def loaded_session(keeper: Keeper) -> Session:
    return keeper.create(variant="loaded")


def test_the_main_thread_knows_its_own_id(keeper: Keeper) -> None:
    with loaded_session(keeper) as session:
        code = "import os, threading\nthreading.main_thread().native_id == os.getpid()"
        assert session.run(code).texts == ["True"]
        assert session.run("threading.active_count(), threading.current_thread().name").texts == [
            "(1, 'MainThread')"
        ]


def test_a_fork_of_user_code_runs_the_fork_hooks_of_the_library(keeper: Keeper) -> None:
    """A thread holds the lock of logging while the main thread forks: the child must get a new one."""
    code = """
import logging, os, threading, time
held, go = threading.Event(), threading.Event()
class Slow(logging.StreamHandler):
    def emit(self, record):
        held.set()
        go.wait(5)
handler = Slow()
logger = logging.getLogger("forks")
logger.addHandler(handler)
threading.Thread(target=logger.warning, args=("x",)).start()
held.wait()
pid = os.fork()
if pid == 0:
    handler.acquire()  # for ever, without the hook
    alone = threading.active_count() == 1
    os._exit(42 if alone else 1)
go.set()
for _ in range(500):
    done, status = os.waitpid(pid, os.WNOHANG)
    if done: break
    time.sleep(0.01)
os.waitstatus_to_exitcode(status) if done else "it hangs"
"""
    with loaded_session(keeper) as session:
        assert session.run(code).texts == ["42"]


def test_the_generators_of_two_sessions_differ(keeper: Keeper) -> None:
    code = """
import numpy, os, random
random.random(), numpy.random.random(), numpy.random.standard_normal()
"""
    drawn = []
    for _ in range(3):
        with loaded_session(keeper) as session:
            state = "import numpy\ns = numpy.random.get_state()\n(s[0], len(set(s[1])) > 600, s[3])"
            assert session.run(state).texts == ["('MT19937', True, 0)"]
            drawn += session.run(code).texts
    numbers = [number for one in drawn for number in one.strip("()").split(", ")]
    assert len(set(numbers)) == 9
