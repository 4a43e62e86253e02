# SPDX-License-Identifier: Apache-2.0
"""Hundreds of sessions asked for at once: each is made, in order, and nobody is cut off."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable

import pytest
from client import Keeper, KeeperError, Session
from engine_keepers import KeeperProcess, both_modes, eventually, only_root

import wire

# More than the builder's socket holds; and as many as a training run may open.
many = pytest.mark.parametrize("count", [400, pytest.param(1000, marks=pytest.mark.long)])
AT_ONCE = 64  # that the keeper makes at a time
BARE = bytes([wire.VARIANTS["bare"], wire.LIFETIMES["session"]]) + wire.Limits().encode()


def ask(keeper: Keeper, count: int) -> list[int]:
    return [keeper.start(wire.CREATE, BARE + wire.unadorned()) for _ in range(count)]


def take(keeper: Keeper, number: int) -> Session:
    reader, fds = keeper.finish(number)
    return Session(keeper, wire.opened(reader, fds))


@only_root
@many
def test_hundreds_at_once_are_all_made_and_in_order(keeper: Keeper, count: int) -> None:
    numbers = ask(keeper, count)

    order: list[int] = []
    made: list[Session] = []
    while len(order) < count:
        keeper.pump()
        for number in sorted(keeper.replies):
            order.append(number)
            made.append(take(keeper, number))

    late = [abs(at - numbers.index(number)) for at, number in enumerate(order)]
    # In order but for those that are made at a time, of which the kernel may let one wait for long.
    assert statistics.median(late) < AT_ONCE, "they were not made in order"
    assert max(late) < 4 * AT_ONCE, "some waited for others that came long after them"
    for session in (made[0], made[count // 2], made[-1]):
        assert session.run("6 * 7").texts == ["42"]


@only_root
@many
def test_a_client_that_reads_late_loses_no_session(
    process: KeeperProcess, keeper: Keeper, count: int
) -> None:
    """As one that is busy for a moment: its answers wait for it, with all their descriptors."""
    numbers = ask(keeper, count)
    with process.connect() as other:
        assert eventually(lambda: len(other.list()) == count, 60)

    sessions = [take(keeper, number) for number in numbers]

    assert sessions[0].run("1").texts == ["1"]
    assert sessions[-1].run("2").texts == ["2"]


@both_modes
def test_those_that_wait_are_made_by_the_next_builder(
    start_keeper: Callable[..., KeeperProcess],
) -> None:
    process = start_keeper()
    with process.connect() as keeper:
        builder = keeper.info()["builder"]
        numbers = ask(keeper, 3 * AT_ONCE)

        os.kill(builder, 9)

        made, refused = 0, []
        for number in numbers:
            try:
                take(keeper, number)
                made += 1
            except KeeperError as error:
                refused.append(error)
        assert all(error.code == "unavailable" for error in refused), refused
        assert made >= AT_ONCE, refused
        keeper.end_all()
