# SPDX-License-Identifier: Apache-2.0
"""What a stage leaves is found, named and removed; what is another's is not touched."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from leftovers import LEFT_BEHIND

PROGRAM = Path(__file__).resolve().parent / "leftovers.py"


def look(verb: str, place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, PROGRAM, verb, place, "0.5"], capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=f"vt-{os.getpid()}-", dir="/tmp") as name:
        yield Path(name)


@contextlib.contextmanager
def sleeper(**env: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["/bin/sleep", "600"], env=env) as process:
        try:
            yield process
        finally:
            process.kill()


def dead_pid() -> int:
    with subprocess.Popen(["/bin/true"]) as process:
        process.wait()
    return process.pid


def a_hierarchy() -> Path:
    """A cgroup that this process may make others in."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for name in (controllers.removeprefix("name="), "unified"):
            found = Path(f"/sys/fs/cgroup/{name}{path}")
            if os.access(found, os.W_OK) and (found / "cgroup.procs").exists():
                return found
    pytest.skip("no cgroup may be made here")


@contextlib.contextmanager
def group(name: str) -> Iterator[Path]:
    made = a_hierarchy() / name
    (made / "inner").mkdir(parents=True)
    try:
        yield made
    finally:
        for path in (made / "inner", made):
            with contextlib.suppress(FileNotFoundError):
                path.rmdir()


def test_a_stage_that_leaves_nothing_is_fine(place: Path) -> None:
    assert look("begin", place).returncode == 0
    (place / "pytest-of-somebody").mkdir()

    found = look("end", place)

    assert (found.returncode, found.stderr) == (0, "")


def test_files_and_processes_are_named_and_removed(place: Path) -> None:
    look("begin", place)
    (place / "vitrine-x" / "data").mkdir(parents=True)

    with sleeper(TMPDIR=str(place)) as process:
        found = look("end", place)

        assert found.returncode == 1
        assert f"process {process.pid} /bin/sleep" in found.stderr
        assert process.wait(10) == -9
    assert f"file {place}/vitrine-x" in found.stderr
    assert not (place / "vitrine-x").exists()


def test_a_process_that_logs_to_the_place_is_named_and_removed(place: Path) -> None:
    look("begin", place)

    with (
        open(place / "log", "wb") as log,
        subprocess.Popen(["/bin/sleep", "600"], env={"LANG": "C.UTF-8"}, stderr=log) as process,
    ):
        found = look("end", place)

        assert found.returncode == 1
        assert f"process {process.pid} /bin/sleep" in found.stderr
        assert process.wait(10) == -9


def test_the_group_of_a_test_that_has_ended_is_named_and_removed(place: Path) -> None:
    look("begin", place)

    with group(f"vitrine-contract-{dead_pid()}-1") as left:
        found = look("end", place)

        assert found.returncode == 1 and f"cgroup {left}" in found.stderr
        assert not left.exists()


def test_what_is_anothers_is_left_alone(place: Path) -> None:
    look("begin", place)
    with (
        group(f"vitrine-contract-{os.getpid()}-1") as at_work,
        group("vitrine-default") as foreign,
        sleeper(TMPDIR="/tmp") as process,
    ):
        found = look("end", place)

        assert (found.returncode, found.stderr) == (0, "")
        assert at_work.exists() and foreign.exists()
        assert process.poll() is None


def test_what_a_killed_run_left_is_removed_by_the_next(place: Path) -> None:
    old = Path(tempfile.mkdtemp(prefix=f"vt-{dead_pid()}-", dir="/tmp"))
    (old / "x").write_text("")

    with (
        group(f"vitrine-contract-{dead_pid()}-1") as left,
        group(f"vitrine-contract-{os.getpid()}-1") as at_work,
    ):
        look("begin", place)

        assert not left.exists() and at_work.exists()
    assert place.exists() and not old.exists()


LEAVES = """
import os, pathlib, subprocess, tempfile
def test_leaves_something():
    print(subprocess.Popen(["/bin/sleep", "600"], env={"TMPDIR": os.environ["TMPDIR"]}).pid)
    pathlib.Path(tempfile.gettempdir(), "a-file").touch()
"""
LEAVES_A_GROUP = """
import os
def test_leaves_a_group():
    os.mkdir({parent!r} + f"/vitrine-contract-{{os.getpid()}}-1")
"""
LEAVES_NOTHING = """
import os
def test_uses_its_place(tmp_path):
    assert str(tmp_path).startswith(os.environ["TMPDIR"] + "/pytest-of-")
"""


def run_stage(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "test_inner.py"
    file.write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "leftovers", "--stage", "inner"]
    command += ["-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(file)]
    variables = {**os.environ, "PYTHONPATH": str(PROGRAM.parent)}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=variables)


def test_a_stage_whose_tests_pass_fails_by_what_they_leave(tmp_path: Path) -> None:
    done = run_stage(tmp_path, LEAVES)

    assert "1 passed" in done.stdout
    assert done.returncode == LEFT_BEHIND
    assert "left behind, and removed now: process" in done.stderr and "/bin/sleep" in done.stderr
    assert "/a-file" in done.stderr


def test_a_stage_has_a_temporary_directory_of_its_own(tmp_path: Path) -> None:
    done = run_stage(tmp_path, LEAVES_NOTHING)

    assert done.returncode == 0, done.stdout
    assert "left behind" not in done.stderr


def test_a_stage_fails_by_a_group_of_its_own_and_leaves_those_of_others(tmp_path: Path) -> None:
    with group(f"vitrine-contract-{dead_pid()}-1") as foreign:
        done = run_stage(tmp_path, LEAVES_A_GROUP.format(parent=str(a_hierarchy())))

        assert done.returncode == LEFT_BEHIND
        assert "left behind, and removed now: cgroup" in done.stderr
        assert foreign.name not in done.stderr


def test_a_command_is_wrapped(tmp_path: Path) -> None:
    script = "touch $TMPDIR/a-file; exit 0"
    command = [sys.executable, PROGRAM, "run", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)

    assert done.returncode == 1
    assert "/a-file" in done.stderr
