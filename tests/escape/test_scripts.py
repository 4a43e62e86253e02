# SPDX-License-Identifier: Apache-2.0
"""Every script of scripts/, in a fresh session and in the shell that another one-shot has used."""

from __future__ import annotations

import platform

import pytest
from escape_server import Attack, EscapeServer, attacks, told

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="needs x86-64: the numbers of its system calls"
)


@pytest.mark.parametrize("attack", attacks(), ids=lambda one: one.path.stem)
@pytest.mark.parametrize("place", ["session", "recycled"])
def test_attack(escape_server: EscapeServer, place: str, attack: Attack) -> None:
    if escape_server.mode == "unprivileged" and "only root" in attack.options:
        pytest.skip("needs root: the limit is a cgroup's")
    seen = told(escape_server.run_in(place, attack.code, timeout_s=60))

    attack.judge(seen, f"{escape_server.mode} {place}")
    escape_server.is_neighbour_well()


def test_after_all_scripts_the_server_is_as_before(escape_server: EscapeServer) -> None:
    escape_server.is_as_before()
