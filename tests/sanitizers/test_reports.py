# SPDX-License-Identifier: Apache-2.0
"""What the sanitizers find in the front fails the tests: shown with a program that is broken on
purpose and built as the front is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "contract"))

from sanitizer_log import report_in
from served import BUILD


def log_of(mistake: str) -> tuple[int, str]:
    # As the keeper starts the front: with an environment of its own.
    ended = subprocess.run(
        [BUILD / "bin" / "broken", mistake], env={"PATH": "/usr/bin:/bin"}, text=True,
        stderr=subprocess.PIPE, timeout=60,
    )  # fmt: skip
    return ended.returncode, "info front: listening\n" + ended.stderr


@pytest.mark.parametrize(
    ("mistake", "name"),
    [("freed", "heap-use-after-free"), ("overflow", "signed integer overflow")],
)
def test_a_mistake_ends_the_program_and_is_found_in_its_log(mistake: str, name: str) -> None:
    code, log = log_of(mistake)

    assert code != 0
    report = report_in(log)
    assert report is not None
    assert name in report
    assert "listening" not in report


def test_a_log_without_a_mistake_has_no_report() -> None:
    code, log = log_of("none")

    assert code == 0, log
    assert report_in(log) is None
