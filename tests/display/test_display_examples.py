# SPDX-License-Identifier: Apache-2.0
"""The examples with a screen, run as their README says; what they show is checked by its pixels."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageSequence
from screenshots import colour, opened
from served import BUILD, ROOT, Server

EXAMPLES = ROOT / "examples"
RED, SKY, FLOOR = (0xE6, 0x39, 0x46), (0xF0, 0xF8, 0xFF), (0x8B, 0x45, 0x13)


def run(server: Server, directory: Path, *command: object) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "VITRINE_URL": f"http://127.0.0.1:{server.port}"},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def share(image: Image.Image, wanted: tuple[int, int, int]) -> int:
    """How many pixels have exactly this colour."""
    colours = image.getcolors(image.width * image.height)
    assert colours is not None
    return sum(count for count, found in colours if found == wanted)


def dark(image: Image.Image) -> int:
    """How many pixels are part of text."""
    return sum(image.convert("L").histogram()[:100])


def middle(image: Image.Image, wanted: tuple[int, int, int]) -> tuple[float, float]:
    """Of all pixels near this colour."""
    pixels = image.convert("RGB").load()
    assert pixels is not None
    near = [
        (x, y)
        for x in range(0, image.width, 2)
        for y in range(0, image.height, 2)
        if all(abs(a - b) < 24 for a, b in zip(pixels[x, y], wanted, strict=True))
    ]
    assert near, f"nothing is {wanted}"
    return sum(x for x, _ in near) / len(near), sum(y for _, y in near) / len(near)


def is_form(image: Image.Image) -> None:
    face = (0xDC, 0xDA, 0xD5)
    assert share(image, face) > 30_000 and colour(image, 400, 300) == face
    entry, price = image.crop((422, 284, 660, 298)), image.crop((430, 410, 600, 444))
    assert dark(entry) > 100, "a name is written there"
    assert dark(price) > 150


def is_plot(image: Image.Image) -> None:
    assert share(image, (255, 255, 255)) > 120_000
    assert share(image, (0x1F, 0x77, 0xB4)) > 300, "the curve"
    assert share(image, (0x44, 0x01, 0x54)) > 9 and share(image, (0xFD, 0xE7, 0x25)) > 9, "the bar"


def is_game(image: Image.Image) -> None:
    assert share(image, (0x1D, 0x35, 0x57)) > 120_000
    assert colour(image, 512, 390) == (0x1D, 0x35, 0x57)
    assert 8_000 < share(image, RED) < 12_000, "the first row of bricks is whole"
    assert share(image, (0xF1, 0xFA, 0xEE)) > 900, "paddle and score"


def is_rosette(image: Image.Image) -> None:
    ground = (0x14, 0x21, 0x3D)
    assert share(image, ground) > 100_000
    assert colour(image, 512, 384 - 150) == ground
    lines = [found for count, found in image.getcolors(1 << 20) or () if count > 300]
    assert len(lines) > 30, "a colour for each of the 36 circles"


def is_balls(image: Image.Image) -> None:
    assert colour(image, 240, 200) == SKY and colour(image, 512, 560) == FLOOR
    for ball in (RED, (0x2A, 0x9D, 0x8F), (0xF4, 0xA2, 0x61)):
        assert share(image, ball) > 700


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("form_tkinter", is_form),
        ("plot_matplotlib", is_plot),
        ("game_pygame", is_game),
        ("rosette_turtle", is_rosette),
        ("ball_dataclass", is_balls),
    ],
)
def test_a_program_and_its_picture(
    server: Server, tmp_path: Path, name: str, check: Callable[[Image.Image], None]
) -> None:
    program = EXAMPLES / "screen" / f"{name}.py"

    run(server, tmp_path, BUILD / "bin" / "vitrine", "run", program, "--screenshot", "it.png")

    check(opened((tmp_path / "it.png").read_bytes()))


def test_the_readmes_picture(server: Server, tmp_path: Path) -> None:
    """Its command as it stands there, at another port."""
    found = re.search(
        r"^curl [^\n]*capture_screenshot.*?hello\.png$",
        (ROOT / "README.md").read_text(),
        re.DOTALL | re.MULTILINE,
    )
    assert found
    command = found[0].replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")

    run(server, tmp_path, "bash", "-euc", command)

    image = opened((tmp_path / "hello.png").read_bytes())
    assert image.size == (720, 240) and colour(image, 60, 60) == (0xD9, 0xD9, 0xD9)
    assert dark(image.crop((40, 90, 680, 150))) > 2_000, "words"


def test_every_program_is_run() -> None:
    assert len(list((EXAMPLES / "screen").glob("*.py"))) == 5


def test_cards_are_dragged_where_they_belong(server: Server, tmp_path: Path) -> None:
    out = run(server, tmp_path, sys.executable, EXAMPLES / "drag_and_drop.py")

    before, after = (opened((tmp_path / f"{one}.png").read_bytes()) for one in ("before", "after"))
    card, table, box = (0xE9, 0xC4, 0x6A), (0x26, 0x46, 0x53), (0xE9, 0xF5, 0xDB)
    assert out.startswith("sorted: {'apple': 'fruit'")
    assert colour(before, 60, 95) == card and colour(after, 60, 95) == table
    assert colour(before, 125, 260) == box and colour(after, 125, 260) == card
    assert share(before, card) == pytest.approx(share(after, card), rel=0.02), "none is lost"


def test_the_film_shows_a_ball_that_moves(server: Server, tmp_path: Path) -> None:
    run(server, tmp_path, sys.executable, EXAMPLES / "record_a_run.py", "film.gif")

    with Image.open(tmp_path / "film.gif") as film:
        frames = [frame.convert("RGB") for frame in ImageSequence.Iterator(film)]
    assert frames[0].getpixel((5, 5)) == frames[-1].getpixel((5, 5)), "it does not begin black"
    with_balls = [frame for frame in frames if share(frame, frame.getpixel((300, 390))) > 5_000]
    places = [middle(frame, RED) for frame in (with_balls[2], with_balls[len(with_balls) // 2])]
    assert len(with_balls) >= 10
    assert abs(places[0][0] - places[1][0]) > 30, places
