# SPDX-License-Identifier: Apache-2.0
"""[K13, K14] Every system call number, called from a session: as syscalls.toml says, and no other.

The table is made by hand from what the policy says and from what was seen; a new kernel or a changed
policy changes it only through somebody who looks.
"""

from __future__ import annotations

import json
import platform
from typing import Any

import pytest
import tomllib
from escape_server import HERE, EscapeServer, note
from policy import read_policy

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="needs x86-64: the numbers of its system calls"
)

GROUPS: dict[str, Any] = tomllib.loads((HERE / "syscalls.toml").read_text())
# name -> (number, rule, result with zeros, result with minus ones)
CALLS = {name: tuple(row) for group in GROUPS.values() for name, row in group["calls"].items()}
LAST = 469
NEW = 335  # from here on a kernel of these days may lack one


def test_the_table_holds_every_call_once() -> None:
    numbers = [row[0] for row in CALLS.values() if row[0] <= LAST]

    assert len(numbers) == len(set(numbers))
    assert all(group["why"] for group in GROUPS.values())


def test_the_table_says_what_the_policy_says() -> None:
    policy = read_policy()
    differences = {}
    for name, (_, rule, *_) in CALLS.items():
        wanted = policy.get(name, ("", "default"))[1]
        if rule not in (wanted, "kill", "passes"):
            differences[name] = (rule, wanted)

    assert differences == {}
    assert set(policy) - set(CALLS) == set(), "calls of the policy that the table lacks"


def test_a_refusal_in_the_table_has_one_result() -> None:
    for name, (_, rule, *results) in CALLS.items():
        if rule.startswith("deny"):
            assert results == [rule.split()[1]] * 2, name
        elif rule == "default":
            assert results == ["ENOSYS"] * 2, name


def test_every_call_does_what_the_table_says(escape_server: EscapeServer) -> None:
    allowed = {row[0] for row in CALLS.values() if row[1] in ("allow", "partly", "answer 0")}
    code = f"ALLOWED = {allowed}\n" + (HERE / "matrix.py").read_text()
    with escape_server.session() as session:
        ran = session.run(code, timeout_s=60)
    assert ran["outcome"] == "ok", ran
    found = {int(number): seen for number, seen in json.loads(ran["stdout"]).items()}

    names = {row[0]: name for name, row in CALLS.items()}
    differences = {}
    for number, seen in found.items():
        row = CALLS[names[number]] if number in names else (number, "default", "ENOSYS", "ENOSYS")
        wanted = list(row[2:])
        is_missing = number >= NEW and row[1] in ("allow", "passes") and seen == ["ENOSYS"] * 2
        if seen != wanted and not is_missing:
            differences[names.get(number, number)] = f"{wanted} -> {seen}"
    note(
        "K13", "every system call number", "as syscalls.toml", len(differences), escape_server.mode
    )
    assert differences == {}
    escape_server.is_neighbour_well()
