# SPDX-License-Identifier: Apache-2.0
"""Full is a typed refusal that passes; zygotes are replaced before they have too many children."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import census
import client
import keepers
import pytest

CAPACITY = 5
CHILDREN = 5
SESSIONS = 20


@pytest.fixture(scope="module", params=keepers.USERS, ids=lambda uid: f"uid{uid}")
def full(request: pytest.FixtureRequest) -> Iterator[keepers.Process]:
    options = ("--pool", "1", "--shells", "1", "--recycled", "0", "--capacity", str(CAPACITY))
    with keepers.started(*options, uid=request.param) as one:
        yield one


def expect_full(control: client.Keeper) -> None:
    with pytest.raises(client.KeeperError) as error:
        control.create("bare")
    assert error.value.code == "unavailable"
    assert "the server is at its capacity" in error.value.message
    assert error.value.remedy


def test_one_session_too_many_is_refused_and_room_is_made_by_an_end(
    full: keepers.Process,
) -> None:
    full.wait_full()
    before = full.census()
    with full.connect() as control:
        sessions = [control.create("bare") for _ in range(CAPACITY)]

        expect_full(control)
        sessions.pop().end()
        sessions.append(control.create("bare"))
        expect_full(control)

        for session in sessions:
            assert session.run("1 + 1").texts == ["2"]
            session.end()
    full.wait_same(before)


def test_sessions_that_are_dead_or_being_made_count_too(full: keepers.Process) -> None:
    full.wait_full()
    before = full.census()
    with full.connect() as control:
        dead = control.create("bare")
        dead.kill()
        assert census.until(lambda: control.list()[dead.id][0])
        numbers = [keepers.start_unusual(control) for _ in range(CAPACITY - 1)]

        expect_full(control)

        made = []
        for number in numbers:
            made.append(keepers.finish_create(control, number))
        for session in (dead, *made):
            session.end()
    full.wait_same(before)


def test_many_clients_at_the_limit_are_served_or_refused_in_turn(full: keepers.Process) -> None:
    full.wait_full()
    before = full.census()
    outcomes: list[str] = []

    def use() -> None:
        with full.connect() as control:
            for _ in range(15):
                try:
                    with control.create("bare") as session:
                        assert session.run("6 * 7").texts == ["42"]
                    outcomes.append("ok")
                except client.KeeperError as error:
                    outcomes.append(error.code)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(outcomes) == 8 * 15
    assert set(outcomes) <= {"ok", "unavailable"}
    assert "ok" in outcomes
    full.wait_same(before)


# --------------------------------------------------------------------------------------- rotation


@pytest.mark.parametrize("uid", keepers.USERS)
def test_a_zygote_is_replaced_when_it_has_many_children_and_they_live_on(uid: int) -> None:
    options = ("--pool", "1", "--shells", "2", "--recycled", "0")
    options += ("--children-per-zygote", str(CHILDREN))
    with keepers.started(*options, uid=uid) as keeper, keeper.connect() as control:
        first = keeper.roles().zygotes["bare"]
        sessions = []
        for i in range(SESSIONS):
            session = control.create("bare")
            session.run(f"x = {i}")
            sessions.append(session)
            # The next one warms up beside the old one, which serves meanwhile.
            census.until(lambda: all(z["warm"] for z in control.info()["zygotes"]))

        assert census.within(lambda: not census.alive(first)), "the old zygote stays"
        zygotes = [z for z in control.info()["zygotes"] if z["variant"] == "bare"]
        # One that is asked without a pause is replaced when it has twice as many.
        assert [z["alive"] <= 2 * CHILDREN for z in zygotes] == [True] * len(zygotes), zygotes
        for i, session in enumerate(sessions):
            assert session.run("x").texts == [str(i)]
            session.end()
        with control.create("bare") as session:
            assert session.run("1 + 1").texts == ["2"]
        assert census.until(lambda: zygotes_of(keeper) == set(keeper.roles().zygotes.values()))
        assert control.events == []


def zygotes_of(keeper: keepers.Process) -> set[int]:
    """Interpreters outside of any session."""
    outer = census.namespace(keeper.roles().foundation, "pid")
    return {
        pid
        for pid in census.belonging(keeper.pid, keeper.name, keeper.outer)
        if census.alive(pid)
        and census.namespace(pid, "pid") == outer
        and "boot.main" in census._text(f"/proc/{pid}/cmdline")
    }
