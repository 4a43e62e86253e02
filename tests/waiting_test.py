# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from waiting import until, within


def test_until_gives_the_first_true_value() -> None:
    values = iter([0, "", 42, 43])

    assert until(lambda: next(values)) == 42


def test_until_fails_for_what_never_happens_and_says_what_it_was() -> None:
    with pytest.raises(AssertionError, match=r"never happened in 0 s: .*is_warm"):
        until(lambda: len("is_warm") == 0, 0)
    with pytest.raises(AssertionError, match="the encoder is gone"):
        until(lambda: False, 0, "the encoder is gone")


def test_within_gives_the_last_false_value() -> None:
    assert within(list, 0) == []
    assert within(lambda: "yes", 0) == "yes"
