# SPDX-License-Identifier: Apache-2.0
"""stdout and stderr: order, foreign writers, floods, and what user code does to the descriptors."""

from __future__ import annotations

from pathlib import Path

import pytest
from client import Keeper, Session
from engine_keepers import KeeperProcess, both_modes, eventually

MIB = 1 << 20


@pytest.mark.parametrize("variant", ["bare", "loaded", "seeded"])
def test_a_fresh_session_is_silent(keeper: Keeper, variant: str) -> None:
    ran = keeper.create(variant).run("pass")

    assert (ran.stdout, ran.stderr, ran.notes) == (b"", b"", [])


def test_prints_keep_their_order_and_come_before_the_end(session: Session) -> None:
    ran = session.run("for i in range(10_000): print(i)")

    assert ran.stdout == "".join(f"{i}\n" for i in range(10_000)).encode()


def test_output_streams_while_the_code_runs(session: Session) -> None:
    execution = session.begin("print('early')\ninput()", interactive=True)

    session.wait(execution, until=lambda: execution.stdout == b"early\n")

    assert execution.claim is None
    session.answer(b"x\n")
    session.wait(execution)


def test_output_survives_an_exception(session: Session) -> None:
    ran = session.run("print('half', end='')\nimport sys\nsys.stderr.write('words')\n1 / 0")

    assert (ran.stdout, ran.stderr) == (b"half", b"words")


def test_python_c_and_child_processes_write_to_one_stream_in_order(session: Session) -> None:
    ran = session.run(
        "import ctypes, os, subprocess, sys\n"
        "libc = ctypes.CDLL(None)\n"
        "print('one')\n"
        "libc.puts(b'two'); libc.fflush(None)\n"
        "os.write(1, b'three\\n')\n"
        "subprocess.run(['echo', 'four'])\n"
        "os.system('echo five')\n"
        "print('six', end='')"
    )

    assert ran.stdout == b"one\ntwo\nthree\nfour\nfive\nsix"


def test_bytes_that_are_no_text_pass_unchanged(session: Session) -> None:
    code = "import os, sys\nos.write(1, bytes(range(256)))\nsys.stdout.buffer.write(b'\\xff')"

    ran = session.run(code)

    assert ran.stdout == bytes(range(256)) + b"\xff"


def test_text_that_cannot_be_encoded_is_escaped(session: Session) -> None:
    ran = session.run("print('a\\ud800b')")

    assert (ran.outcome, ran.stdout) == ("ok", b"a\\ud800b\n")


@both_modes
def test_a_gibibyte_of_output_passes_and_nothing_grows(
    process: KeeperProcess, session: Session
) -> None:
    before = process.resident_kib()

    ran = session.run("import os\nb = b'x' * (1 << 20)\nfor _ in range(1024):\n    os.write(1, b)")

    assert (ran.outcome, ran.sizes["stdout"]) == ("ok", 1 << 30)
    assert process.resident_kib() - before < 16 * 1024


@both_modes
def test_a_reader_that_stops_holds_the_writer_up(process: KeeperProcess, keeper: Keeper) -> None:
    session = keeper.create()
    session.run("import ctypes; ctypes.CDLL(None).prctl(15, b'flooding')")
    (worker,) = process.named("flooding")
    before = process.resident_kib(), process.resident_kib(worker)

    flood = session.begin("import os\nb = b'x' * 65536\nwhile True: os.write(1, b)")

    assert eventually(lambda: waits_for_a_reader(worker)), "it writes to nobody and does not wait"
    after = process.resident_kib(), process.resident_kib(worker)
    session.interrupt()
    session.wait(flood)
    assert flood.outcome == "interrupted"
    assert flood.sizes["stdout"] <= MIB
    assert all(now - then < 4 * 1024 for then, now in zip(before, after, strict=True))
    assert session.run("1").texts == ["1"]


def waits_for_a_reader(pid: int) -> bool:
    return Path(f"/proc/{pid}/wchan").read_text().endswith("pipe_write")


def test_one_line_of_a_hundred_mebibytes_arrives(session: Session) -> None:
    ran = session.run("print('x' * (100 << 20))")

    assert (ran.outcome, ran.sizes["stdout"]) == ("ok", (100 << 20) + 1)


def test_ten_million_empty_lines_arrive(session: Session) -> None:
    ran = session.run("import sys\nsys.stdout.write('\\n' * 10_000_000)\nNone")

    assert ran.sizes["stdout"] == 10_000_000


def test_what_comes_after_the_end_belongs_to_the_next_execution(session: Session) -> None:
    first = session.run(
        "import subprocess\np = subprocess.Popen('read x; echo late', shell=True, stdin=-1)"
    )
    second = session.run("p.communicate(b'go\\n')\nprint('second')")

    assert first.stdout == b""
    assert second.stdout == b"late\nsecond\n"


def test_a_thread_that_prints_on_reaches_the_next_execution(session: Session) -> None:
    session.run(
        "import threading\ngo = threading.Event()\n"
        "t = threading.Thread(target=lambda: (go.wait(), print('from the thread')))\nt.start()"
    )

    assert session.run("go.set(); t.join()").stdout == b"from the thread\n"


def test_a_child_that_floods_after_the_end_blocks_nobody(session: Session) -> None:
    first = session.run(
        "import os\npid = os.fork()\nif pid == 0:\n    while True: os.write(1, b'y' * 4096)"
    )
    second = session.run("import signal\nos.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)[1]")

    assert first.outcome == "ok"
    assert (second.outcome, second.texts) == ("ok", ["9"])
    assert session.run("print('quiet')").stdout.endswith(b"quiet\n")


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.stdout.close()",
        "import os; os.close(1)",
        "import os; os.close(1); os.close(2); os.close(0)",
        "import os; os.closerange(0, 1000)",
        "import sys; del sys.stdout",
        "import sys; sys.stdout = None; sys.stderr = 7",
        "import sys; sys.stdout.detach()",
        "import os; fd = os.open('file', os.O_CREAT | os.O_WRONLY); os.dup2(fd, 1)",
        "import os; os.set_blocking(1, False)",
        "import sys, io; sys.stdout = io.StringIO()",
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    ],
)
def test_a_broken_stdout_works_again_in_the_next_execution(session: Session, code: str) -> None:
    broken = session.run(code)
    after = session.run("print('again')\nimport os, sys\nos.write(1, b'raw\\n')")

    assert broken.outcome in ("ok", "exception")
    assert after.outcome == "ok", after.error
    assert after.stdout.startswith(b"again\nraw\n")


def test_output_without_a_reader_does_not_kill_the_worker(session: Session) -> None:
    # The keeper keeps a copy of each pipe, so a client that goes away breaks none.
    session.close()
    with session.keeper.attach(session.id) as again:
        assert again.run("print('x' * 10)").stdout == b"x" * 10 + b"\n"


def test_stderr_has_its_own_order(session: Session) -> None:
    ran = session.run(
        "import sys, os\nfor i in range(100):\n    print(i, file=sys.stderr)\n"
        "    os.write(2, b'raw\\n')"
    )

    assert ran.stderr == b"".join(b"%d\nraw\n" % i for i in range(100))


def test_a_flood_ends_with_its_time(session: Session) -> None:
    ran = session.run("import os\nwhile True: os.write(1, b'x' * 65536)", timeout=0.3)

    assert (ran.outcome, ran.state_kept) == ("timeout", True)
