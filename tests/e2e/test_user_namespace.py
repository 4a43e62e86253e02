# SPDX-License-Identifier: Apache-2.0
"""`vitrine serve` as root of a user namespace: the ids that are mapped there are all it has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from cli import PATIENCE, VITRINE, read_line

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="maps ids, which only root may")
WRAPPER = str(Path(__file__).with_name("user_namespace.py"))


def serving(data: Path, outside: int, count: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, WRAPPER, str(outside), str(count), str(VITRINE)]
    words += ["serve", "--listen", "127.0.0.1:0", "--pool", "1", "--data", str(data)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def is_open_to_all(path: Path) -> bool:
    return all(above.stat().st_mode & 0o005 == 0o005 for above in (path, *path.parents))


@pytest.mark.parametrize("outside", [0, 300_000])
def test_a_server_runs_with_65536_ids(directory: Path, outside: int) -> None:
    if outside and not is_open_to_all(VITRINE):
        pytest.skip("the build lies where another user has no way to")
    os.chown(directory, outside, outside)
    process = serving(directory / "data", outside, 65_536)
    url = read_line(process, b"\n").decode().split()[-1]
    request = urllib.request.Request(
        f"{url}/v1/run", b'{"code": "import os; os.getuid()"}', {"Content-Type": "application/json"}
    )

    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        told = answer.read().decode()
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=PATIENCE)

    assert '"outcome":"ok"' in told, told
    assert process.returncode == 0, log.decode()


@pytest.mark.parametrize("count", [1, 1000])
def test_too_few_ids_are_said(directory: Path, count: int) -> None:
    process = serving(directory / "data", 0, count)
    out, log = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out) == (2, b"")
    assert f"this user namespace has {count} ids" in log.decode()
    assert "remedy: map 65536 ids into it" in log.decode()
