# SPDX-License-Identifier: Apache-2.0
"""Ten real GUI programs, each in fresh sessions, under every policy: is the picture right?"""

from __future__ import annotations

import base64
import io
import time
from typing import Any

from PIL import Image
from programs import Program, programs
from rows import Report, one, row
from served import Server

CHOSEN = (
    "tk_canvas", "ttk_form", "toplevel", "two_roots", "window_and_exception",
    "bouncing_ball", "turtle_square", "plot", "plot_tkagg", "pygame_static",
)  # fmt: skip
IMPORTS = (
    "tkinter", "turtle", "dataclasses", "matplotlib", "matplotlib.pyplot",
    "pygame", "pygame.display", "pygame.draw",
)  # fmt: skip


def sweep(server: Server, report: Report, rounds: int, policy: str) -> None:
    """`rounds` captures of each."""
    chosen = [program for program in programs() if program.name in CHOSEN]
    assert len(chosen) == len(CHOSEN)
    right: dict[str, int] = {program.name: 0 for program in chosen}
    returned: list[float] = []
    looped: list[float] = []
    wrong: dict[str, str] = {}
    for _ in range(rounds):
        for program in chosen:
            taken, why = capture(server, program, policy)
            if why:
                wrong[program.name] = why
                continue
            right[program.name] += 1
            (looped if program.loops else returned).append(taken)
    asked = rounds * len(chosen)
    told = one(f"right pictures, 10 programs, {policy}", "", sum(right.values()), asked)
    # The interpreter of smolagents knows less Python; what it cannot run it cannot draw.
    if policy != "smolagents":
        told = told.judged(f"{asked} of {asked}", sum(right.values()) == asked)
    report.add(told)
    if returned:
        report.add(row("   code that returns", "ms", returned))
    if looped:
        report.add(row("   code in an event loop", "ms", looped))
    for name, why in wrong.items():
        report.note(f"{policy}, {name}: {rounds - right[name]} of {rounds} not right: {why}")


def capture(server: Server, program: Program, policy: str) -> tuple[float, str]:
    """Milliseconds of the execution, and what was wrong with it."""
    wish: dict[str, Any] = {"policy": policy}
    if policy == "smolagents":
        wish["imports"] = list(IMPORTS)
    session = server.create(**wish)
    try:
        began = time.perf_counter()
        done = session.run(program.code, capture_screenshot=True, display_time=1, env=program.env)
        taken = 1000 * (time.perf_counter() - began)
        return taken, mistake(program, done)
    finally:
        session.delete()


def mistake(program: Program, done: dict[str, Any]) -> str:
    if done["outcome"] != program.outcome:
        said = done["error"]["value"].strip().splitlines() if done["error"] else [""]
        return f"{done['outcome']}: {said[-1][:160] if said else ''}"
    if done["screenshot"] is None:
        return f"no picture: {done['notes']}"
    image = Image.open(io.BytesIO(base64.b64decode(done["screenshot"])))
    for (x, y), wanted in program.pixels.items():
        found = "#{:02x}{:02x}{:02x}".format(*image.getpixel((x, y))[:3])
        if found != wanted:
            return f"{found} at {x},{y} and not {wanted}; notes: {done['notes']}"
    return ""
