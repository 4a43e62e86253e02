# SPDX-License-Identifier: Apache-2.0
"""The programs of tests/display, run by the runtime alone, on a screen of their own."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from screens import Screen
from sessions import Session
from test_loop_ends import needs

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "display"))

from programs import Program, programs

PROGRAMS = [program for program in programs() if program.name != "pygame_stubborn"]  # needs trip()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_is_seen(onscreen: Session, screen: Screen, program: Program) -> None:
    needs(onscreen, *program.needs)

    def seen() -> dict[tuple[int, int], str]:
        return {at: screen.colour(*at) for at in program.pixels}

    def right() -> bool:
        return seen() == program.pixels

    def look() -> dict[tuple[int, int], str]:
        screen.waits_for(right, patience=5)
        return seen()

    onscreen.start(program.code, render_ms=8000, env=program.env)
    if program.loops:
        assert screen.waits_for(right), (seen(), program.pixels)
        time.sleep(0.2)
        onscreen.end_loop("painting")
    done = onscreen.wait(look=look)

    assert program.loops or done.seen == program.pixels
    assert (done.outcome, done.notes) == (program.outcome, program.notes), done
