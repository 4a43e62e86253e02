# SPDX-License-Identifier: Apache-2.0
"""A session that is made while its packages are installed: the stream, cut anywhere."""

from __future__ import annotations

import json

import pytest

import vitrine
from vitrine.calls import Creation

SESSION = {"id": "1", "notes": []}
LINES = [
    {"type": "progress", "text": "Resolved 1 package"},
    {"type": "progress", "text": "Installed 1 package"},
    {"type": "session", "session": SESSION},
]
STREAM = "".join(json.dumps(line) + "\n" for line in LINES).encode()


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_progress_is_told_and_the_session_comes_last(size: int) -> None:
    told: list[str] = []
    creation = Creation(told.append)

    for at in range(0, len(STREAM), size):
        creation.feed(STREAM[at : at + size])

    assert creation.result() == SESSION
    assert told == ["Resolved 1 package", "Installed 1 package"]


def test_a_session_that_needs_nothing_comes_by_itself() -> None:
    creation = Creation(print)
    creation.feed(json.dumps(SESSION).encode())
    assert creation.result() == SESSION


def test_a_problem_is_an_error_and_a_cut_stream_too() -> None:
    problem = {"status": 422, "code": "conflict", "detail": "it does not fit", "remedy": "loosen"}
    creation = Creation(print)
    with pytest.raises(vitrine.VitrineError, match="it does not fit"):
        creation.feed(json.dumps({"type": "problem", "problem": problem}).encode() + b"\n")
    with pytest.raises(vitrine.ConnectionLost):
        Creation(print).result()


def test_on_progress_is_taken_by_both_clients(server: vitrine.Server) -> None:
    told: list[str] = []
    with vitrine.Sandbox(imports=["dataclass"], on_progress=told.append) as box:
        assert box.notes == ["dataclass -> dataclasses"]
    assert told == [], "nothing had to be installed"
