# SPDX-License-Identifier: Apache-2.0
"""fork, threads, multiprocessing, subprocesses."""

from __future__ import annotations

import pytest
from sessions import Session


def test_a_forked_child_ends_where_the_code_ends(session: Session) -> None:
    done = session.run(
        "import os\nprint('once')\npid = os.fork()\n"
        "if pid == 0:\n    print('child')\nelse:\n    status = os.waitpid(pid, 0)[1]\n"
        "'parent' if pid else display('child must not send')"
    )

    assert done.stdout.splitlines().count("once") == 1
    assert "child" in done.stdout
    assert done.value == "'parent'"
    assert done.order.count("finished") == 1
    assert session.run("os.waitstatus_to_exitcode(status)").value == "0"


@pytest.mark.parametrize(
    ("in_child", "status", "stderr"),
    [
        ("pass", 0, ""),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("sys.exit(7)", 7, ""),
        ("sys.exit('words')", 1, "words"),
        ("exit()", 0, ""),
        ("raise KeyboardInterrupt", 1, "KeyboardInterrupt"),
        ("os._exit(9)", 9, ""),
        ("os.kill(os.getpid(), 9)", -9, ""),
    ],
)
def test_how_a_child_ends(session: Session, in_child: str, status: int, stderr: str) -> None:
    done = session.run(
        f"import os, sys\npid = os.fork()\nif pid == 0:\n    {in_child}\n"
        "else:\n    s = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\ns if pid else None"
    )

    assert done.value == str(status)
    assert stderr in done.stderr and "vitrine_runtime" not in done.stderr
    assert done.order == ["result", "finished"]


def test_text_is_not_doubled_by_a_fork(session: Session) -> None:
    done = session.run(
        "import os\nprint('half', end='')\npid = os.fork()\nif pid: os.waitpid(pid, 0)"
    )

    assert done.stdout == "half"


def test_a_child_cannot_ask_or_show(session: Session) -> None:
    session.start(
        "import os\npid = os.fork()\n"
        "if pid == 0:\n    try:\n        input('?')\n    except EOFError: print('eof')\n    display('x')\n"
        "else:\n    os.waitpid(pid, 0)",
        interactive=True,
    )
    done = session.wait(answers=[])

    assert done.order == ["finished"]
    assert done.stdout == "eof\n'x'\n"


def test_a_raw_fork_in_c(session: Session) -> None:
    done = session.run(
        "import ctypes, os\nlibc = ctypes.CDLL(None)\npid = libc.fork()\nif pid: os.waitpid(pid, 0)\npid > 0"
    )

    assert done.value == "True" and done.order == ["result", "finished"]


def test_threads_go_on_between_cells(session: Session) -> None:
    session.run(
        "import threading, time\nn = 0\nstop = False\ndef count():\n    global n\n"
        "    while not stop:\n        n += 1\n        time.sleep(0.001)\n"
        "t = threading.Thread(target=count)\nt.start()"
    )
    first = session.run("n").value
    import time

    time.sleep(0.1)
    second = session.run("stop = True\nt.join()\nn").value

    assert int(second or 0) > int(first or 0)


def test_an_exception_in_a_thread_goes_to_stderr(session: Session) -> None:
    done = session.run(
        "import threading\ndef f():\n    1 / 0\nt = threading.Thread(target=f)\nt.start()\nt.join()"
    )

    assert done.outcome == "ok"
    assert "Exception in thread" in done.stderr and "    1 / 0" in done.stderr
    assert "vitrine_runtime" not in done.stderr


def test_a_thread_pool(session: Session) -> None:
    done = session.run(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as p: r = list(p.map(lambda x: x * x, range(5)))\nr"
    )

    assert done.value == "[0, 1, 4, 9, 16]"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_with_functions_of_cells(session: Session, method: str) -> None:
    session.run("import math\nFACTOR = 3\nclass Box:\n    def __init__(self, x): self.x = x")
    session.run("print('effects must not be repeated')\ncomputed = sum(range(10))")
    session.run("def triple(box):\n    return Box(math.floor(box.x) * FACTOR)")

    done = session.run(
        f"import multiprocessing as mp\nctx = mp.get_context('{method}')\n"
        "with ctx.Pool(2) as pool:\n    out = [b.x for b in pool.map(triple, [Box(1), Box(2.5)])]\nout"
    )

    assert done.value == "[3, 6]", done
    assert "effects" not in done.stdout


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_defined_and_started_in_one_cell(session: Session, method: str) -> None:
    done = session.run(
        "import multiprocessing as mp\n"
        "def work(q): q.put('from the child'); print('child prints')\n"
        "if __name__ == '__main__':\n"
        f"    ctx = mp.get_context('{method}')\n    q = ctx.Queue()\n"
        "    p = ctx.Process(target=work, args=(q,))\n    p.start()\n    x = q.get(timeout=30)\n    p.join()\n"
        "(x, p.exitcode)"
    )

    assert done.value == "('from the child', 0)", done
    assert done.stdout == "child prints\n"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_pool_executor(session: Session, method: str) -> None:
    session.run("def square(x):\n    return x * x")

    done = session.run(
        "from concurrent.futures import ProcessPoolExecutor\nimport multiprocessing as mp\n"
        f"with ProcessPoolExecutor(2, mp_context=mp.get_context('{method}')) as p:\n"
        "    r = list(p.map(square, range(4)))\nr"
    )

    assert done.value == "[0, 1, 4, 9]", done


def test_an_exception_in_a_worker_process(session: Session) -> None:
    session.run("def bad(x):\n    raise ValueError(x)")

    done = session.run(
        "import multiprocessing as mp\nwith mp.get_context('fork').Pool(1) as p: p.map(bad, [5])"
    )

    assert done.error is not None and done.error[:2] == ("ValueError", "5")
    assert "RemoteTraceback" in done.traceback


def test_subprocess_python(session: Session) -> None:
    done = session.run(
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(1 + 1)'], check=True)\nNone"
    )

    assert done.stdout == "2\n"


def test_a_child_that_outlives_the_cell_writes_later(session: Session) -> None:
    session.run("import subprocess\np = subprocess.Popen(['sh', '-c', 'sleep 0.2; echo late'])")

    assert "late" in session.run("p.wait()").stdout


def test_no_descriptor_is_left_behind(session: Session) -> None:
    count = "import os\nlen(os.listdir('/proc/self/fd'))"
    session.run("def f(x): return x")
    session.run(
        "import multiprocessing as mp\nwith mp.get_context('spawn').Pool(1) as p: p.map(f, [1])"
    )
    session.run("input()", stdin=b"x")
    session.run("!true")  # programs find the session's socket for packages from here on
    before = session.run(count).value
    for _ in range(5):
        session.run("input()", stdin=b"x\n")
        session.run("!true")
        session.run("x = !true")
        session.run("print('x')\n1 / 0")
        session.run("with mp.get_context('spawn').Pool(1) as p: p.map(f, [1])")
    assert session.run(count).value == before
