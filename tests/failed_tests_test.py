# SPDX-License-Identifier: Apache-2.0
"""Which failures are repeated: those that a busy machine can cause, and no others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS.parent / "tools"))

import test as runner  # noqa: E402

PASSES = "def test_passes(): pass\n"
FAILS = "def test_fails(): assert False\n"
BAD_FIXTURE = (
    "import pytest\n@pytest.fixture\ndef bad():\n    yield\n    assert False\n"
    "def test_its_fixture_fails(bad): pass\n"
)
SANITIZER = (
    "def test_crashes(): assert False, '==7==ERROR: AddressSanitizer: heap-use-after-free'\n"
)


def failures(directory: Path, source: str) -> list[str] | None:
    (directory / "test_it.py").write_text(source)
    file = directory / "failed"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "failed_tests", "-p", "no:cacheprovider",
         "--failed", file, "--rootdir", directory, directory / "test_it.py"],
        env={"PYTHONPATH": str(TESTS), "PATH": "/usr/bin:/bin"}, cwd=directory,
        stdout=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    return file.read_text().splitlines() if file.exists() else None


def test_a_test_that_failed_is_named(tmp_path: Path) -> None:
    assert failures(tmp_path, PASSES + FAILS) == ["test_it.py::test_fails"]


@pytest.mark.parametrize("cause", [BAD_FIXTURE, SANITIZER, "import nothing_of_this_name\n", ""])
def test_other_failures_are_not_repeated(tmp_path: Path, cause: str) -> None:
    assert failures(tmp_path, PASSES + (FAILS + cause if cause else "")) is None


def test_a_few_tests_are_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "FAILED", tmp_path)
    (tmp_path / "display").write_text("a\nb\n")
    (tmp_path / "engine").write_text("c\n")

    assert runner.repeatable(["display", "engine"]) == ["a", "b", "c"]


def test_many_tests_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "FAILED", tmp_path)
    (tmp_path / "display").write_text("a\nb\nc\nd\n")

    assert runner.repeatable(["display"]) == []


def test_nothing_is_repeated_if_a_stage_failed_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "FAILED", tmp_path)
    (tmp_path / "display").write_text("a\n")

    assert runner.repeatable(["display", "lint.ruff"]) == []
