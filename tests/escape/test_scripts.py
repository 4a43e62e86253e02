# SPDX-License-Identifier: Apache-2.0
"""Every script of scripts/, in a fresh session and in the shell that another one-shot has used."""

from __future__ import annotations

import platform

import pytest
from arena import Arena, Attack, attacks, flat, note, told

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="needs x86-64: the numbers of its system calls"
)


@pytest.mark.parametrize("attack", attacks(), ids=lambda one: one.path.stem)
@pytest.mark.parametrize("place", ["session", "recycled"])
def test_attack(arena: Arena, place: str, attack: Attack) -> None:
    if arena.mode == "unprivileged" and "only root" in attack.options:
        pytest.skip("needs root: the limit is a cgroup's")
    seen = told(arena.run_in(place, attack.code, timeout_s=60))

    expected = " ".join(sorted({one for some in attack.expected.values() for one in some}))
    note(attack.id, attack.title, expected, list(seen.values()), f"{arena.mode} {place}")
    assert seen.keys() == attack.expected.keys()
    for name, value in seen.items():
        unexpected = set(flat(value)) - attack.expected[name]
        assert not unexpected, f"{name}: {value}"
    arena.is_neighbour_well()


def test_after_all_scripts_the_server_is_as_before(arena: Arena) -> None:
    arena.is_as_before()
