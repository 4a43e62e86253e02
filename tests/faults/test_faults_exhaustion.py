# SPDX-License-Identifier: Apache-2.0
"""What runs out while the keeper is busy: namespaces, cgroups, processes, descriptors.

Each is a typed refusal, sessions that live notice nothing, and it passes.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import census
import client
import keepers
import pytest
from refusals import ROOT_ONLY


@pytest.fixture
def calm(keeper: keepers.Process) -> Iterator[client.Keeper]:
    """A connection that exists before anything runs out; everything is as before afterwards."""
    keeper.wait_full()
    before = keeper.census()
    with keeper.connect() as control:
        neighbour = control.create("bare")
        neighbour.run("x = 8")
        yield control
        assert neighbour.run("x").texts == ["8"]
        neighbour.end()
    keeper.wait_same(before)


def soft_limit(pid: int, what: int) -> int:
    name = {resource.RLIMIT_NOFILE: "open files", resource.RLIMIT_NPROC: "processes"}[what]
    for line in Path(f"/proc/{pid}/limits").read_text().splitlines():
        if name in line:
            value = line.split(name)[1].split()[0]
            return resource.RLIM_INFINITY if value == "unlimited" else int(value)
    raise AssertionError(f"no limit of {name}")


def expect_over_limit(control: client.Keeper) -> None:
    with pytest.raises(client.KeeperError) as error:
        control.create("bare", "session", keepers.UNUSUAL)
    assert error.value.code == "over_limit", error.value


def expect_a_session(control: client.Keeper) -> None:
    with control.create("bare", "session", keepers.UNUSUAL) as session:
        assert session.run("1 + 1").texts == ["2"]


@ROOT_ONLY
@pytest.mark.parametrize("kind", ["user", "net", "mnt", "pid", "ipc", "uts", "cgroup"])
def test_no_namespace_left_is_a_typed_refusal_and_passes(
    keeper: keepers.Process, calm: client.Keeper, kind: str
) -> None:
    foundation = keeper.roles().foundation
    keepers.limit_namespaces(foundation, {kind: 1})
    try:
        expect_over_limit(calm)
    finally:
        keepers.limit_namespaces(foundation, {kind: 10_000})
    expect_a_session(calm)


@ROOT_ONLY
def test_no_cgroup_left_is_a_typed_refusal_and_passes(
    keeper: keepers.Process, calm: client.Keeper
) -> None:
    groups = [
        g for g in census.cgroup_directories(keeper.name) if g.name == f"vitrine-{keeper.name}"
    ]
    limits = [g / "cgroup.max.descendants" for g in groups]
    limits = [limit for limit in limits if limit.exists()]
    if not limits:
        pytest.skip("no v2 cgroups here")
    limits[0].write_text("1")
    try:
        expect_over_limit(calm)
    finally:
        limits[0].write_text("max")
    expect_a_session(calm)


@ROOT_ONLY
@pytest.mark.parametrize("who", ["builder", "zygote"])
def test_no_process_left_is_a_typed_refusal_and_passes(
    keeper: keepers.Process, calm: client.Keeper, who: str
) -> None:
    roles = keeper.roles()
    pid = roles.builder if who == "builder" else roles.zygotes["bare"]
    before = soft_limit(pid, resource.RLIMIT_NPROC)
    keepers.set_limit(pid, resource.RLIMIT_NPROC, 1)
    try:
        expect_over_limit(calm)
    finally:
        keepers.set_limit(pid, resource.RLIMIT_NPROC, before)
    expect_a_session(calm)


@ROOT_ONLY
def test_every_descriptor_that_is_missing_is_a_typed_refusal_and_passes(
    keeper: keepers.Process, calm: client.Keeper
) -> None:
    enough = soft_limit(keeper.pid, resource.RLIMIT_NOFILE)
    used = max(int(fd) for fd in os.listdir(f"/proc/{keeper.pid}/fd"))
    refusals = 0
    try:
        # From "not one more" on, so that each place that opens something fails once.
        for more in range(1, 60):
            keepers.set_limit(keeper.pid, resource.RLIMIT_NOFILE, used + more)
            try:
                session = calm.create("bare", "session", keepers.UNUSUAL)
            except client.KeeperError as error:
                assert error.code in ("over_limit", "unavailable"), error
                refusals += 1
            else:
                assert session.run("1 + 1").texts == ["2"]
                session.end()
                break
        else:
            raise AssertionError("never enough")
    finally:
        keepers.set_limit(keeper.pid, resource.RLIMIT_NOFILE, enough)
    assert refusals > 4
    expect_a_session(calm)


@ROOT_ONLY
def test_a_client_that_cannot_be_accepted_waits_and_costs_nothing(
    keeper: keepers.Process, calm: client.Keeper
) -> None:
    enough = soft_limit(keeper.pid, resource.RLIMIT_NOFILE)
    keepers.set_limit(keeper.pid, resource.RLIMIT_NOFILE, 3)
    try:
        spent = census.cpu_seconds(keeper.pid)
        logged = keeper.stderr.count("accepting a client")
        waiting = keeper.connect()
        assert census.until(lambda: keeper.stderr.count("accepting a client") >= logged + 5)
        assert census.cpu_seconds(keeper.pid) - spent < 0.3
    finally:
        keepers.set_limit(keeper.pid, resource.RLIMIT_NOFILE, enough)
    assert waiting.info()["sessions"] == 1
    waiting.close()


@ROOT_ONLY
def test_a_zygote_without_descriptors_is_replaced(
    keeper: keepers.Process, calm: client.Keeper
) -> None:
    old = keeper.roles().zygotes["bare"]
    keepers.set_limit(old, resource.RLIMIT_NOFILE, 8)

    with pytest.raises(client.KeeperError) as error:
        calm.create("bare")
    assert error.value.code in ("unavailable", "over_limit"), error.value

    assert census.until(lambda: keeper.roles().zygotes.get("bare", old) != old)
    expect_a_session(calm)


def test_a_stopped_builder_or_zygote_does_not_stop_the_others(
    keeper: keepers.Process, calm: client.Keeper
) -> None:
    roles = keeper.roles()
    stopped = (roles.builder, roles.zygotes["bare"])
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        with calm.create("loaded") as session:  # a worker that waits needs neither
            assert session.source == "warm"
            assert session.run("1 + 1").texts == ["2"]
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
