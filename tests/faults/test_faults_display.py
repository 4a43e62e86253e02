# SPDX-License-Identifier: Apache-2.0
"""Every system call that makes a display's jail fails once: no X server ever runs in half a jail.

As test_faults_jail.py does for shells and workers: the keeper is told which call of the next display
is to fail; the display must be refused, with the step named, and nothing may be left.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import census
import client
import keepers
import pytest

import wire

TOLD = "Input/output error"
MANY = 400  # more than the sequence has; its end is found

# By the names of src/jail/display.h.
STEPS = {
    "cloning a display",
    "mapping its ids",
    "descriptors",
    "ids",
    "root",
    "furniture",
    "privileges",
    "resource limits",
    "walls",
    "ready",
    "screen helper",
    "server",
}
# What the kernel says of the walls around a process.
WALLS = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs",
         "Seccomp", "Seccomp_filters")  # fmt: skip


@pytest.fixture(scope="module", params=keepers.USERS, ids=lambda uid: f"uid{uid}")
def faulty(request: pytest.FixtureRequest) -> Iterator[tuple[keepers.Process, keepers.Faults]]:
    with keepers.faulty(request.param, recycled=0) as both:
        yield both


def step_of(error: client.KeeperError) -> str:
    """ "starting an X server: root: mounting ... failed: ..." is the step "root"."""
    parts = error.message.split(": ")
    assert parts[0] == "starting an X server", error
    return parts[1].removesuffix(" failed")


def open_display(control: client.Keeper, session: client.Session) -> None:
    _, fds = control.call(wire.OPEN_DISPLAY, struct.pack("<Q", session.id) + b"\1")
    for fd in fds:
        os.close(fd)


def name_of(pid: int) -> str:
    return census._text(f"/proc/{pid}/cmdline").partition("\0")[0]


def in_displays(keeper: keepers.Process) -> list[int]:
    """Whoever is, or was to become, an X server or its helper."""
    return [
        pid
        for pid in census.belonging(keeper.pid, keeper.name, keeper.outer)
        if name_of(pid) in ("Xvfb", "vitrine-screen") and census.alive(pid)
    ]


def walls_of(pid: int) -> dict[str, str]:
    status = census._text(f"/proc/{pid}/status")
    return {
        name: found.group(1)
        for name in WALLS
        if (found := re.search(rf"^{name}:[ \t]*(.*)$", status, re.MULTILINE))
    } | {
        "root": ",".join(sorted(os.listdir(f"/proc/{pid}/root"))),
        "mounts": str(len(Path(f"/proc/{pid}/mountinfo").read_text().splitlines())),
        "limits": Path(f"/proc/{pid}/limits").read_text(),
    }


def walls(keeper: keepers.Process) -> dict[str, str]:
    def servers() -> list[int]:
        found = in_displays(keeper)
        return [pid for pid in found if name_of(pid) == "Xvfb"]

    assert census.within(lambda: len(servers()) == 1), in_displays(keeper)
    found = walls_of(servers()[0])
    # Ids of sessions differ outside: what counts is that all of them are one.
    for name in ("Uid", "Gid"):
        assert len(set(found.pop(name).split())) == 1
    return found


def test_a_display_with_any_call_failing_is_refused_and_leaves_nothing(
    faulty: tuple[keepers.Process, keepers.Faults],
) -> None:
    keeper, faults = faulty
    keeper.wait_full()
    before = keeper.census()
    steps: list[str] = []
    with keeper.connect() as control:
        with control.create("bare") as session:
            open_display(control, session)
            whole = walls(keeper)
        assert whole["Seccomp"] == "2" and whole["NoNewPrivs"] == "1"
        assert all(int(whole[name], 16) == 0 for name in WALLS if name.startswith("Cap"))
        for number in range(1, MANY):
            with control.create("bare") as session:
                faults.set(display=number)
                try:
                    open_display(control, session)
                except client.KeeperError as error:
                    faults.set()
                    assert TOLD in error.message, (number, steps[-3:], error)
                    assert error.code in ("internal", "unavailable"), error
                    steps.append(step_of(error))
                    assert in_displays(keeper) == [], "half a jail runs something"
                    assert session.run("6 * 7").texts == ["42"], "the session is none the worse"
                    continue
                faults.set()
                assert walls(keeper) == whole, "half a jail has an X server"
                break
        else:
            raise AssertionError("the sequence has no end")

    assert STEPS <= set(steps), STEPS - set(steps)
    assert len(steps) > 60, steps
    keeper.wait_same(before)


def test_a_display_that_failed_once_starts_at_the_next_try(
    faulty: tuple[keepers.Process, keepers.Faults],
) -> None:
    keeper, faults = faulty
    with keeper.connect() as control, control.create("bare") as session:
        faults.set(display=20)
        with pytest.raises(client.KeeperError):
            open_display(control, session)
        faults.set()

        open_display(control, session)

        assert walls(keeper)["Seccomp"] == "2"
