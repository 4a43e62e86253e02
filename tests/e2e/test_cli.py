# SPDX-License-Identifier: Apache-2.0
"""`vitrine serve`, `repl` and the rest of the program, as a person uses them."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from cli import BUILD, PATIENCE, VITRINE, Serving, environment, vitrine

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
