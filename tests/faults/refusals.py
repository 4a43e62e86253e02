# SPDX-License-Identifier: Apache-2.0
"""A keeper that must not start: it ends by itself, with a reason and a remedy."""

from __future__ import annotations

import os

import census
import keepers
import pytest

SMALL = ("--pool", "1", "--shells", "1", "--recycled", "0")
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make such a host")
CODES = ("invalid_argument", "not_found", "conflict", "over_limit", "unsupported", "unavailable")


def refused(*options: str, says: str, typed: bool = True, **how: object) -> str:
    """Starts a keeper that must end by itself, with a reason; gives the log."""
    how.setdefault("uid", os.geteuid())
    keeper = keepers.Process(*SMALL, *options, **how)  # type: ignore[arg-type]
    try:
        assert not keeper.wait_ready(), "it started"
        assert keeper.process.returncode in (1, 2), (keeper.process.returncode, keeper.stderr)
        log = keeper.stderr
        assert says in log, log
        if typed:
            assert "remedy:" in log, log
            assert any(f"{code}:" in log for code in (*CODES, "internal")), log
        assert census.within(lambda: not keeper.remains()), keeper.remains()
        assert not os.path.lexists(keeper.control)
        return log
    finally:
        keeper.discard()
