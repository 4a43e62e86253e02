# SPDX-License-Identifier: Apache-2.0
"""`vitrine run`, against a server and with a private one."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cli import PATIENCE, VITRINE, environment, read_line, vitrine

# --------------------------------------------------------------------------------------------- run


def test_run_prints_what_a_prompt_would_and_exits_with_zero(server: str) -> None:
    done = vitrine(
        "run", "-c", "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7", url=server
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n42\n", "err\n")


@pytest.mark.parametrize(
    ("code", "expected"),
    [("1/0", 1), ("import sys; sys.exit(7)", 7), ("import sys; sys.exit()", 0), ("exit('bad')", 1)],
)
def test_run_exits_as_the_code_does(server: str, code: str, expected: int) -> None:
    assert vitrine("run", "-c", code, url=server).returncode == expected


def test_run_shows_the_traceback_on_stderr_but_not_of_sys_exit(server: str) -> None:
    raised = vitrine("run", "-c", "print(1)\n1/0", url=server)
    left = vitrine("run", "-c", "raise SystemExit(3)", url=server)
    assert raised.stdout == "1\n"
    assert raised.stderr.startswith("Traceback") and "ZeroDivisionError" in raised.stderr
    assert left.stderr == ""


def test_run_ends_at_its_time_limit_with_124(server: str) -> None:
    started = time.monotonic()
    done = vitrine("run", "-c", "while True: pass", "--timeout", "0.5", url=server)
    assert done.returncode == 124
    assert "--timeout" in done.stderr
    assert time.monotonic() - started < 15


def test_run_ends_at_its_memory_limit_with_137(server: str) -> None:
    done = vitrine("run", "-c", "x = bytearray(400 << 20)", "--memory", "64", url=server)
    assert done.returncode in (1, 137)  # a MemoryError where the limit is one of the process


def test_run_has_a_policy(server: str) -> None:
    done = vitrine("run", "--url", server, "--policy", "restricted", "-c", "import os")
    assert done.returncode == 1
    assert "PolicyViolation: import: line 1: the module 'os'" in done.stderr

    allowed = ["--policy", "restricted", "--import", "glob", "-c", "import glob; glob.glob('*')"]
    assert vitrine("run", "--url", server, *allowed).returncode == 0
    assert vitrine("run", "--url", server, "--policy", "wild", "-c", "1").returncode == 2


def test_run_takes_a_file_or_standard_input(server: str, directory: Path) -> None:
    file = directory / "job.py"
    file.write_text("print('from a file')\n")
    assert vitrine("run", str(file), url=server).stdout == "from a file\n"
    assert vitrine("run", "-", url=server, stdin="print('piped')").stdout == "piped\n"


def test_run_passes_input_and_variables(server: str, directory: Path) -> None:
    file = directory / "in.txt"
    file.write_text("first\nsecond\n")
    code = "import os; print(input(), input(), os.environ['A'], os.environ['B'])"
    variables = ["--env", "A=1", "--env", "B=x=y"]
    for source, text in ((str(file), ""), ("-", "first\nsecond\n")):
        done = vitrine("run", "-c", code, "--stdin", source, *variables, url=server, stdin=text)
        assert (done.stdout, done.stderr) == ("first second 1 x=y\n", "")


def test_run_as_json_is_the_whole_execution(server: str) -> None:
    done = vitrine("run", "--json", "-c", "print('hi'); 1/0", url=server)
    execution = json.loads(done.stdout)
    assert done.returncode == execution["exit_code"] == 1
    assert execution["stdout"] == "hi\n"
    assert execution["error"]["name"] == "ZeroDivisionError"
    assert done.stderr == ""


def test_run_streams(server: str) -> None:
    code = "import time; print('now', flush=True); time.sleep(20)"
    process = subprocess.Popen(
        [VITRINE, "run", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(server),
    )
    read_line(process, b"now\n")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert err == b"vitrine: interrupted\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run"], "nothing to run"),
        (["run", "-c", "1", "x.py"], "both"),
        (["run", "-", "--stdin", "-"], "standard input"),
        (["run", "/nowhere.py"], "/nowhere.py"),
        (["run", "-c", "1", "--env", "A"], "env 'A'"),
        (["run", "-c", "1", "--timeout", "soon"], "--timeout"),
        (["run", "-c", "1", "--timeout", "0"], "exec_timeout_s"),
        (["run", "-c", "1", "--url", "ftp://x"], "ftp://x"),
        (["dance"], "dance"),
        (["completion", "tcsh"], "tcsh"),
    ],
)
def test_wrong_usage_is_told_with_a_remedy(server: str, arguments: list[str], told: str) -> None:
    done = vitrine(*arguments, url=server)
    assert done.returncode == 2
    assert done.stdout == ""
    assert told in done.stderr
    assert "\n  remedy: " in done.stderr


def test_run_refuses_what_is_not_text(server: str, directory: Path) -> None:
    file = directory / "latin.py"
    file.write_bytes(b"print('\xe9')")
    done = vitrine("run", str(file), url=server)
    assert done.returncode == 2
    assert "not UTF-8" in done.stderr and "remedy" in done.stderr


def test_run_ends_quietly_when_nobody_reads(directory: Path) -> None:
    process = subprocess.Popen(
        [VITRINE, "run", "-c", "while True: print('y' * 100)"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment("private", TMPDIR=str(directory)),
    )
    read_line(process, b"y\n")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=PATIENCE) == 141
    assert process.stderr.read() == b""
    process.stderr.close()
    assert left_of(directory) == []


def test_run_tells_that_no_server_answers() -> None:
    done = vitrine("run", "-c", "1", url="http://127.0.0.1:1")
    assert done.returncode == 125
    assert "no server answers" in done.stderr and "remedy" in done.stderr


# ---------------------------------------------------------------------------------- private server


def left_of(directory: Path) -> list[str]:
    """Processes whose command line names the directory, and what is in it."""
    found = [entry.name for entry in directory.iterdir()]
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(directory).encode() in entry.read_bytes():
                found.append(f"process {entry.parent.name}")
        except OSError:
            continue
    return found


def test_a_private_server_leaves_nothing_behind(directory: Path) -> None:
    good = vitrine("run", "-c", "print('private')", TMPDIR=str(directory))
    assert (good.returncode, good.stdout, good.stderr) == (0, "private\n", "")
    assert left_of(directory) == []
    bad = vitrine("run", "-c", "import sys; sys.exit(9)", TMPDIR=str(directory))
    assert bad.returncode == 9
    assert left_of(directory) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_private_run_within_seconds(
    directory: Path, number: signal.Signals
) -> None:
    code = "print('on', flush=True)\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass"
    process = subprocess.Popen(
        [VITRINE, "run", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment("private", TMPDIR=str(directory)),
    )
    read_line(process, b"on\n")
    started = time.monotonic()
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert time.monotonic() - started < 12
    assert left_of(directory) == []


def test_a_private_server_cleans_up_when_its_run_is_killed(directory: Path) -> None:
    process = subprocess.Popen(
        [VITRINE, "run", "-c", "print('on', flush=True)\nimport time; time.sleep(600)"],
        stdout=subprocess.PIPE,
        env=environment("private", TMPDIR=str(directory)),
    )
    read_line(process, b"on\n")
    assert left_of(directory)

    process.kill()
    process.communicate(timeout=PATIENCE)

    latest = time.monotonic() + PATIENCE
    while left_of(directory) and time.monotonic() < latest:
        time.sleep(0.05)
    assert left_of(directory) == []


def test_a_private_server_that_cannot_start_tells_why(directory: Path) -> None:
    image = directory / "image"
    image.mkdir()
    (image / "manifest.json").write_text("{}")

    done = vitrine("run", "-c", "1", "--image", str(image), TMPDIR=str(directory))

    assert done.returncode == 125
    assert "could not be started" in done.stderr and "image" in done.stderr
    shutil.rmtree(image)
    assert left_of(directory) == []


def test_a_missing_image_is_told_with_the_remedy(directory: Path) -> None:
    done = vitrine("run", "-c", "1", "--image", str(directory / "none"), TMPDIR=str(directory))
    assert done.returncode == 125
    assert "no runtime image" in done.stderr and "./dev image" in done.stderr
    assert left_of(directory) == []


def test_run_reaches_what_it_allows_and_says_what_it_does_not() -> None:
    code = "import requests; print(requests.get('http://example.com/').text)"

    done = vitrine("run", "-c", code, "--allow", "example.org")
    wrong = vitrine("run", "-c", code, "--allow", "*")

    assert "example.com:80 is not in this session's network.allow (example.org)" in done.stdout
    assert wrong.returncode == 2 and "every host" in wrong.stderr and "remedy" in wrong.stderr
