# SPDX-License-Identifier: Apache-2.0
"""A private server ends with its client, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import vitrine
from vitrine.transport import find_address

CHILD = """
import os, sys, time, vitrine
server = vitrine.local(private=True)
assert vitrine.run("6 * 7").value == 42
print(server.pid, server._guardian.args[4], flush=True)
{then}
"""


def until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def start_client(then: str) -> tuple[subprocess.Popen[str], int, Path]:
    client = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(then=then)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert client.stdout is not None
    pid, directory = client.stdout.readline().split()
    return client, int(pid), Path(directory)


@pytest.mark.parametrize(
    "then",
    ["os.kill(os.getpid(), 9)", "sys.exit(1)", "os._exit(0)", "1/0", "server.close()"],
)
def test_nothing_is_left(then: str) -> None:
    client, pid, directory = start_client(then)
    client.wait(30)

    assert until(lambda: not is_alive(pid)), "the server lives on"
    assert until(lambda: not directory.exists()), "its directory is left"


def test_ctrl_c_is_for_the_client_alone() -> None:
    client, pid, directory = start_client(
        "try:\n    print('sleeps', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt: print(vitrine.run('1').value, flush=True)"
    )
    assert client.stdout is not None
    assert client.stdout.readline() == "sleeps\n"

    os.killpg(client.pid, signal.SIGINT)  # as a terminal does

    assert client.stdout.readline() == "1\n"
    client.wait(30)
    assert until(lambda: not is_alive(pid) and not directory.exists())


def test_a_running_server_is_used_and_left_alone(server: vitrine.Server) -> None:
    with vitrine.local() as same:
        assert (same.url, same.is_private, same.pid) == (server.url, False, 0)
        assert same.info()["name"] == "vitrine"

    assert server.info()["name"] == "vitrine"
    assert find_address().url == server.url


def test_the_default_is_given_back(server: vitrine.Server) -> None:
    with vitrine.local(private=True) as other:
        assert find_address().url == other.url != server.url
        assert is_alive(other.pid)

    assert find_address().url == server.url
    assert until(lambda: not is_alive(other.pid))


def test_a_killed_guardian_is_stood_in_for() -> None:
    server = vitrine.local(private=True, default=False)
    assert server._guardian is not None
    server._guardian.kill()
    server.close()

    assert not is_alive(server.pid)
    assert not os.path.exists(server._directory)


def test_a_server_named_by_the_environment_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vitrine.transport, "local_addresses", [])
    monkeypatch.setenv("VITRINE_URL", "http://127.0.0.1:9/")

    with pytest.raises(vitrine.ConnectionFailed, match="VITRINE_URL"):
        vitrine.local()


def test_a_missing_program_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VITRINE_BIN", str(tmp_path / "nope"))

    with pytest.raises(vitrine.StartFailed, match="VITRINE_BIN"):
        vitrine.local(private=True)


def test_a_start_that_fails_says_why(tmp_path: Path) -> None:
    before = set(os.listdir("/tmp"))
    with pytest.raises(vitrine.StartFailed, match="image"):
        vitrine.local(private=True, image=tmp_path)

    left = [name for name in set(os.listdir("/tmp")) - before if name.startswith("vitrine-local-")]
    assert not [name for name in left if not os.path.exists(f"/tmp/{name}/data")]


def test_a_program_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    program = tmp_path / "vitrine"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)

    with pytest.raises(vitrine.StartFailed, match="not ready"):
        vitrine.local(private=True, program=program, timeout=0.5)
