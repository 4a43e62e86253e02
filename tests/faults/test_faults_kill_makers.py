# SPDX-License-Identifier: Apache-2.0
"""kill -9 of what makes sessions: zygotes, the builder, the foundation that everything stands on.

Sessions that live go on, those that are being made are refused with a type, and the dead come back.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import census
import client
import keepers
import pytest
from killing import BUSY, HONEST, KILLED, create_honestly, wait_death

pytestmark = pytest.mark.usefixtures("everything_as_before")


def zygote_pid(keeper: keepers.Process, variant: str) -> int:
    return next(z["pid"] for z in keeper.info()["zygotes"] if z["variant"] == variant)


def respawned(keeper: keepers.Process, variant: str, old: int) -> bool:
    return any(
        z["variant"] == variant and z["warm"] and z["pid"] != old for z in keeper.info()["zygotes"]
    )


@pytest.mark.parametrize("variant", ["bare", "loaded"])
def test_a_killed_zygote_comes_back_and_its_sessions_live_on(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session, variant: str
) -> None:
    session = control.create(variant)
    session.run("x = 7")
    old = zygote_pid(keeper, variant)

    os.kill(old, signal.SIGKILL)
    made = create_honestly(control, variant)

    assert census.until(lambda: respawned(keeper, variant, old))
    assert session.run("x").texts == ["7"]
    session.end()
    if isinstance(made, client.Session):
        assert made.run("1 + 1").texts == ["2"]
        made.end()
    with control.create(variant) as another:
        assert another.run("1 + 1").texts == ["2"]


def test_a_zygote_killed_with_a_request_in_hand_gives_a_typed_refusal_or_a_session(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    old = zygote_pid(keeper, "bare")
    before = keeper.info()["shells"]
    os.kill(old, signal.SIGSTOP)
    number = keepers.start_unusual(control)
    # The shell is built without the zygote; the fork is asked of it then.
    assert census.until(lambda: keeper.info()["shells"] > before)

    os.kill(old, signal.SIGKILL)

    try:
        session = keepers.finish_create(control, number)
        assert session.run("1 + 1").texts == ["2"]
        session.end()
    except client.KeeperError as error:
        assert error.code == "unavailable", error


def test_zygotes_killed_under_load_cost_at_most_typed_refusals(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    outcomes: list[str] = []

    def load() -> None:
        with keeper.connect() as mine:
            for _ in range(15):
                made = create_honestly(mine, "bare")
                if isinstance(made, client.Session):
                    assert made.run("6 * 7").texts == ["42"]
                    made.end()
                outcomes.append(made if isinstance(made, str) else "ok")

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        old = zygote_pid(keeper, "bare")
        with contextlib.suppress(ProcessLookupError):
            os.kill(old, signal.SIGKILL)
        census.until(lambda: respawned(keeper, "bare", old))  # noqa: B023
        for thread in threads:
            thread.join(0.02)

    assert len(outcomes) == 60
    assert outcomes.count("ok") > 0


def test_a_killed_builder_comes_back_and_sessions_live_on(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    old = keeper.roles().builder

    os.kill(old, signal.SIGKILL)

    assert census.until(lambda: keeper.roles().builder not in (old, -1))
    with control.create("bare", "session", keepers.UNUSUAL) as session:
        assert session.source == "built"
        assert session.run("1 + 1").texts == ["2"]


def test_builder_and_zygote_come_back_beside_many_sessions(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    """Many sessions mean high numbers of descriptors in the keeper."""
    sessions = [control.create("bare") for _ in range(60)]
    before = keeper.roles()

    os.kill(before.builder, signal.SIGKILL)
    os.kill(before.zygotes["bare"], signal.SIGKILL)

    assert census.until(lambda: keeper.roles().builder not in (before.builder, -1))
    assert census.until(lambda: respawned(keeper, "bare", before.zygotes["bare"]))
    with control.create("bare", "session", keepers.UNUSUAL) as session:
        assert session.run("1 + 1").texts == ["2"]
    for session in sessions:
        session.end()


def test_a_builder_killed_with_requests_in_hand_gives_typed_refusals(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    old = keeper.roles().builder
    os.kill(old, signal.SIGSTOP)
    numbers = [keepers.start_unusual(control) for _ in range(4)]
    control.info()  # the requests before it have been handled

    os.kill(old, signal.SIGKILL)

    for number in numbers:
        with pytest.raises(client.KeeperError) as refused:
            control.finish(number)
        assert refused.value.code == "unavailable", refused.value


def test_builders_killed_under_load_cost_at_most_typed_refusals(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    outcomes = []
    killed = 0
    for _ in range(12):
        numbers = [keepers.start_unusual(control) for _ in range(3)]
        builder = keeper.roles().builder
        if builder > 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(builder, signal.SIGKILL)
                killed += 1
        for number in numbers:
            try:
                session = keepers.finish_create(control, number)
                assert session.run("6 * 7").texts == ["42"]
                session.end()
                outcomes.append("ok")
            except client.KeeperError as error:
                assert error.code in HONEST, error
                outcomes.append(error.code)
    assert len(outcomes) == 36
    assert killed > 6


@pytest.mark.parametrize("when", ["idle", "busy", "creating"])
def test_a_killed_foundation_ends_all_sessions_and_everything_starts_anew(
    keeper: keepers.Process, control: client.Keeper, when: str
) -> None:
    sessions = [control.create("bare") for _ in range(3)]
    if when == "busy":
        for session in sessions:
            session.begin(BUSY)
    numbers = []
    if when == "creating":
        numbers = [keepers.start_unusual(control) for _ in range(3)]
    old = keeper.roles().foundation

    os.kill(old, signal.SIGKILL)

    assert {wait_death(session) for session in sessions} == {KILLED}
    for number in numbers:
        with contextlib.suppress(client.KeeperError):
            sessions.append(keepers.finish_create(control, number))
    for session in sessions:
        session.end()
    keeper.wait_full()
    assert keeper.roles().foundation != old
    with control.create("bare") as session:
        assert session.run("1 + 1").texts == ["2"]
