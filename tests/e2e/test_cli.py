# SPDX-License-Identifier: Apache-2.0
"""The program `vitrine` as a person uses it, against a real server that it starts itself.

VITRINE_BUILD names the build directory (default build/dev).
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("VITRINE_BUILD", REPOSITORY / "build" / "dev")).resolve()
VITRINE = BUILD / "bin" / "vitrine"
PATIENCE = 60.0


def environment(url: str, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("VITRINE_TOKEN")}
    return {**kept, "VITRINE_URL": url, **more}


def vitrine(
    *arguments: str, url: str = "private", stdin: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(VITRINE), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(url, **more),
        check=False,
    )


def read_line(process: subprocess.Popen[bytes], text: bytes) -> bytes:
    """All of stdout until `text` has come."""
    assert process.stdout is not None
    seen = b""
    latest = time.monotonic() + PATIENCE
    while text not in seen:
        ready, _, _ = select.select([process.stdout], [], [], latest - time.monotonic())
        part = os.read(process.stdout.fileno(), 4096) if ready else b""
        assert part, f"ended before {text!r}: {seen!r}"
        seen += part
    return seen


@pytest.fixture
def directory() -> Iterator[Path]:
    """Not below pytest's own: as root the front must be able to pass."""
    path = Path(tempfile.mkdtemp(prefix="vitrine-cli-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


class Serving:
    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [str(VITRINE), "serve", "--listen", "127.0.0.1:0", "--pool", "1", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.line = read_line(self.process, b"\n").decode()
        self.url = self.line.rstrip("\n").rpartition(" ")[2]

    def stop(self) -> tuple[int, bytes]:
        """Its exit code, and what came on stdout after the ready line."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    data = Path(tempfile.mkdtemp(prefix="vitrine-cli-"))
    serving = Serving("--data", str(data))
    assert re.fullmatch(r"vitrine: ready on http://127\.0\.0\.1:\d+\n", serving.line)
    yield serving.url
    assert serving.stop() == (0, b"")
    shutil.rmtree(data)


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


# ------------------------------------------------------------------------------------------- serve

WRONG_FLAGS = [
    ("--listen", "nowhere"),
    ("--listen", "127.0.0.1:70000"),
    ("--listen", "example.org:80"),
    ("--pool", "many"),
    ("--pool", "-1"),
    ("--pool-bare", "1001"),
    ("--pool-seeded", "1.5"),
    ("--capacity", "0"),
    ("--history", "0"),
    ("--auth", "maybe"),
    ("--egress", "maybe"),
    ("--egress-allow-private", "10.1"),
    ("--egress-allow-private", "::1/129"),
    ("--policy", "wild"),
    ("--name", "a/b"),
    ("--host", "a b"),
    ("--image", "/nowhere"),
    ("--reward", "/nowhere.json"),
    ("--reward", "opennv"),
    ("--config", "/nowhere.json"),
]


@pytest.mark.parametrize(("flag", "value"), WRONG_FLAGS)
def test_serve_refuses_a_wrong_value(directory: Path, flag: str, value: str) -> None:
    done = vitrine("serve", "--data", str(directory / "data"), f"{flag}={value}")
    assert done.returncode == 2
    assert done.stdout == ""
    assert value in done.stderr and flag.strip("-").replace("-", "_") in done.stderr
    assert "\n  remedy: " in done.stderr


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ('{"colour": 1}', "colour"),
        ('{"listen": 8000}', "listen '8000'"),
        ('{"pool": "4"}', "pool"),
        ('{"pool": -4}', "pool '-4'"),
        ('{"host": 1}', "host '1'"),
        ('{"auth": "maybe"}', "auth 'maybe'"),
        ("[]", "not an object"),
        ("{", "not JSON"),
    ],
)
def test_serve_refuses_a_wrong_configuration(directory: Path, config: str, told: str) -> None:
    file = directory / "vitrine.json"
    file.write_text(config)
    done = vitrine("serve", "--data", str(directory / "data"), "--config", str(file))
    assert done.returncode == 2
    assert told in done.stderr
    assert "\n  remedy: " in done.stderr


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("{", "is not JSON"),
        ("[]", "no field 'groups'"),
        ('{"groups": 1}', "groups"),
        ('{"groups": [{"rules": [{"add": "1"}]}]}', "groups[0].rules[0]"),
        (
            '{"groups": [{"rules": [{"if": {"colour": 1}, "add": 1}]}]}',
            "groups[0].rules[0].if.colour",
        ),
        (
            '{"groups": [{"rules": []}, {"rules": [{"if": {"code_matches": "("}, "add": 1}]}]}',
            "groups[1].rules[0].if.code_matches is no regular expression",
        ),
    ],
)
def test_serve_refuses_wrong_rules_of_rewards(directory: Path, rules: str, told: str) -> None:
    file = directory / "rules.json"
    file.write_text(rules)
    file.chmod(0o600)
    began = time.monotonic()
    done = vitrine(
        "serve", "--listen", "127.0.0.1:0", "--data", str(directory / "data"), f"--reward={file}"
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "reward" in done.stderr and told in done.stderr
    assert "remedy: " in done.stderr and "docs/rewards.md" in done.stderr
    assert "starting another" not in done.stderr and time.monotonic() - began < 20


def test_serve_gives_the_rewards_of_its_rules(directory: Path) -> None:
    file = directory / "rules.json"
    file.write_text('{"groups": [{"rules": [{"if": {"stdout_equals": "42"}, "add": 3}]}]}')
    file.chmod(0o600)  # the front has another uid
    serving = Serving("--data", str(directory / "data"), "--reward", str(file))
    try:
        request = urllib.request.Request(
            f"{serving.url}/step", json.dumps({"action": {"code": "6 * 7"}}).encode()
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert json.load(answer)["reward"] == 3.0
    finally:
        code, rest = serving.stop()
    assert (code, rest) == (0, b"")


def test_serve_takes_the_policy_of_the_environment(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXECUTOR_BACKEND", "restrictedpython")
    serving = Serving("--data", str(directory / "data"))
    try:
        with urllib.request.urlopen(f"{serving.url}/v1/info", timeout=20) as answer:
            assert json.load(answer)["policy"] == "restricted"
    finally:
        code, rest = serving.stop()
    assert (code, rest) == (0, b"")
    monkeypatch.setenv("EXECUTOR_BACKEND", "wild")
    refused = vitrine("serve", "--data", str(directory / "other"))
    assert refused.returncode == 2
    assert "EXECUTOR_BACKEND 'wild'" in refused.stderr and "remedy: " in refused.stderr


def test_serve_refuses_a_directory_with_other_files(directory: Path) -> None:
    (directory / "thesis.txt").write_text("precious")
    done = vitrine("serve", "--data", str(directory))
    assert done.returncode == 2
    assert "not Vitrine's" in done.stderr
    assert directory.stat().st_uid == os.geteuid()


def test_serve_takes_a_file_and_flags_win_and_a_directory_has_one_server(directory: Path) -> None:
    data = directory / "data"
    config = directory / "vitrine.json"
    token = directory / "secret"
    token.write_text("0123456789abcdef0123\n")
    token.chmod(0o600)
    config.write_text(
        json.dumps(
            {"listen": "0.0.0.0:1", "data": str(data), "pool_bare": 0, "token_file": str(token)}
        )
    )
    serving = Serving("--config", str(config))  # --listen is a flag there
    try:
        second = vitrine("serve", "--listen", "127.0.0.1:0", "--data", str(data))
        assert second.returncode == 2
        assert "another server" in second.stderr and "remedy" in second.stderr
        request = urllib.request.Request(
            f"{serving.url}/v1/sessions", headers={"Authorization": "Bearer 0123456789abcdef0123"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert json.load(answer)["sessions"] == []
    finally:
        code, rest = serving.stop()
    assert (code, rest) == (0, b"")


# -------------------------------------------------------------------------------------------- repl


def test_repl_keeps_state_and_takes_blocks(server: str) -> None:
    typed = "x = 20\ndef f(y):\n  return x + y\n\nf(\n22\n)\n1/0\nexit(5)\nprint('never')\n"
    done = vitrine("repl", url=server, stdin=typed)
    assert done.returncode == 5
    assert done.stdout == "42\n"
    assert "ZeroDivisionError" in done.stderr


def test_repl_in_a_terminal_interrupts_and_ends(server: str, directory: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(VITRINE, ["vitrine", "repl"], environment(server, XDG_STATE_HOME=str(directory)))

    def until(text: bytes) -> None:
        seen = b""
        latest = time.monotonic() + PATIENCE
        while text not in seen:
            assert select.select([terminal], [], [], latest - time.monotonic())[0], seen
            seen += os.read(terminal, 4096)

    until(b">>> ")
    os.write(terminal, b"import time; print('a' + 'b'); time.sleep(60)\r")
    until(b"ab\r\n")
    os.write(terminal, b"\x03")
    until(b"KeyboardInterrupt\r\n>>> ")
    os.write(terminal, b"6 * 7\r")
    until(b"42\r\n>>> ")
    # Typed until it is read: between two lines the terminal is for a moment not in the editor's mode.
    ended, status = 0, 0
    while ended == 0:
        with contextlib.suppress(OSError):
            os.write(terminal, b"\x15\x04")  # on an empty line, whatever became of the last one
            while select.select([terminal], [], [], 0.1)[0] and os.read(terminal, 4096):
                pass
        ended, status = os.waitpid(pid, os.WNOHANG)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0


# ---------------------------------------------------------------------------------------- the rest


def test_doctor_tells_what_it_found() -> None:
    table = vitrine("doctor")
    found = json.loads(vitrine("doctor", "--json").stdout)
    states = {check["name"]: check["state"] for check in found["checks"]}
    assert table.returncode == (0 if found["full"] else 1)
    assert found["full"] == ("missing" not in states.values())
    assert {"user namespaces", "seccomp", "Landlock", "cgroup memory", "image"} <= states.keys()
    held = {states["cgroup memory"], states["cgroup cpu"]} == {"ok"}
    assert found["limits_level"] == ("enforced" if held else "best_effort")
    assert f"Limits of sessions: {'enforced' if held else 'best effort'}." in table.stdout
    assert all(check["remedy"] for check in found["checks"] if check["state"] == "missing")
    assert all(name in table.stdout for name in states)


def test_doctor_fails_without_an_image() -> None:
    done = vitrine("doctor", "--image", "/nowhere")
    assert done.returncode == 1
    assert re.search(r"^missing +image .*\n.*\./dev image", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_something_the_shell_reads(shell: str) -> None:
    done = vitrine("completion", shell)
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("serve", "--pool-bare", "doctor"))
    if program := shutil.which(shell):
        assert (
            subprocess.run([program, "-n"], input=done.stdout, text=True, check=False).returncode
            == 0
        )


def test_help_version_and_image_info() -> None:
    assert "Examples:" in vitrine("--help").stdout
    assert '--json \'{"code"' in vitrine("--help").stdout, "curl's -d sends a form"
    assert "Examples:" in vitrine("run", "--help").stdout
    assert re.fullmatch(r"vitrine \d+\.\d+\.\d+\n", vitrine("version").stdout)
    assert "numpy" in vitrine("image", "info").stdout


def test_the_keeper_tells_the_signals_that_end_it() -> None:
    done = subprocess.run(
        [BUILD / "bin" / "vitrine-keeper", "--help"], capture_output=True, text=True, check=True
    )
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        assert name in done.stdout
