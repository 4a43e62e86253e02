# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of the documents: `./dev pictures`. Each is what a real server answered,
kept with the same pixels in fewer bytes; the film is kept as it came.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import vitrine
from PIL import Image

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
PICTURE_BYTES, FILM_BYTES = 60_000, 300_000


@dataclasses.dataclass(frozen=True)
class Shot:
    """A program of `examples/screen`, and how large a screen suits it."""

    program: str
    picture: str
    width: int
    height: int


SHOTS = (
    Shot("form_tkinter", "form", 440, 330),
    Shot("plot_matplotlib", "plot", 670, 350),
    Shot("game_pygame", "game", 640, 440),
    Shot("rosette_turtle", "rosette", 560, 480),
    Shot("ball_dataclass", "balls", 600, 420),
)


def main() -> int:
    with vitrine.local(private=True):
        for shot in SHOTS:
            code = (EXAMPLES / "screen" / f"{shot.program}.py").read_text()
            keep(shot.picture, pictured(code, shot.width, shot.height))
        hello = readme_body()
        keep("hello", pictured(hello["code"], **hello["display"]))
        drag, record = (example(name) for name in ("drag_and_drop", "record_a_run"))
        before, after = HERE / "drag-before.png", HERE / "drag-after.png"
        drag["main"](before, after)
        for file in (before, after):
            keep(file.stem, file.read_bytes())
        record["main"](HERE / "balls.gif", EXAMPLES / "screen" / "ball_dataclass.py")
    too_large = [
        f"{file.name}: {file.stat().st_size} bytes"
        for file in sorted([*HERE.glob("*.png"), *HERE.glob("*.gif")])
        if file.stat().st_size > (FILM_BYTES if file.suffix == ".gif" else PICTURE_BYTES)
    ]
    print("\n".join(["too large:", *too_large]) if too_large else f"written: {HERE}")
    return 1 if too_large else 0


def readme_body() -> dict[str, Any]:
    """What the README sends with curl."""
    readme = (HERE.parents[1] / "README.md").read_text()
    found = re.search(r"--json '(\{\"capture_screenshot\".*?\})' \|", readme, re.DOTALL)
    assert found, "the README shows no picture"
    return dict(json.loads(found[1]))


def pictured(code: str, width: int, height: int) -> bytes:
    with vitrine.Sandbox(display={"width": width, "height": height}) as box:
        done = box.run(code, capture_screenshot=True).check()
    assert done.screenshot_png is not None, done.notes
    return done.screenshot_png


def keep(name: str, png: bytes) -> None:
    Image.open(io.BytesIO(png)).save(HERE / f"{name}.png", optimize=True)


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


if __name__ == "__main__":
    sys.exit(main())
