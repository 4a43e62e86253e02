# SPDX-License-Identifier: Apache-2.0
"""`vitrine-encoder`: what it records can be played, by others, and is what was on the screen."""

import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from encoder_client import (
    APNG,
    ASKED,
    DISK_FULL,
    ERROR,
    GIF,
    MP4,
    SIZE,
    SOURCE_GONE,
    TIME,
    WEBM,
    Canvas,
    Encoder,
    close_to,
    watch,
)
from screen_client import Screen
from xvfb import Display, expect, until

MOVING = """
    import tkinter as tk
    root = tk.Tk(); root.geometry("1024x768+0+0"); root.overrideredirect(True)
    canvas = tk.Canvas(root, width=1024, height=768, bg="#ffffff", highlightthickness=0)
    canvas.pack()
    ball = canvas.create_oval(0, 300, 100, 400, fill="#ff0000", outline="")
    def step(x=0):
        canvas.coords(ball, x, 300, x + 100, 400)
        root.after(20, step, (x + 8) % 900)
    step(); root.update(); print("moving"); root.mainloop()
"""

Record = Callable[..., Encoder]


@pytest.fixture
def record() -> Iterator[Record]:
    made: list[Encoder] = []

    def start(*arguments: object, **options: object) -> Encoder:
        made.append(Encoder(*arguments, **options))
        return made[-1]

    yield start
    for encoder in made:
        encoder.close()


@pytest.fixture
def canvas(tmp_path: Path) -> Canvas:
    return Canvas(tmp_path / "framebuffer", 320, 240)


def ball(film, frame: int) -> int:
    """Where the red begins, in the row of the ball's middle."""
    row = film.height * 350 // 768
    return next((x for x in range(film.width) if film.pixel(frame, x, row)[1] < 128), -1)


@pytest.mark.parametrize("form", [MP4, WEBM, APNG, GIF], ids=["mp4", "webm", "apng", "gif"])
def test_a_moving_ball_moves_in_the_film(
    display: Display, screen: Screen, tmp_path: Path, record: Record, form: int
) -> None:
    expect(display.python(MOVING), "moving")
    until(lambda: display.pixel(1000, 700) == (255, 255, 255), "the scene")
    encoder = record(display.framebuffer, tmp_path / "film", form=form).wait_started()

    encoder.wait_frames(12)
    stopped = encoder.stop()
    film = watch(tmp_path / "film")

    picture = form in (APNG, GIF)
    assert encoder.started == (
        *((640, 480) if picture else (1024, 768)),
        10 if picture else 30,
        ["h264", "vp8", "apng", "gif"][form],
    )
    assert stopped.reason == ASKED and stopped.frames > 10
    assert stopped.bytes == (tmp_path / "film").stat().st_size
    assert close_to(film.pixel(0, film.width - 20, film.height - 20), (255, 255, 255))
    places = {ball(film, i) for i in range(len(film.frames))}
    assert len(places) > 8, "the ball moves"
    assert all(a < b for a, b in pairwise(film.times))
    assert abs(film.times[-1] - stopped.milliseconds / 1000) < 0.3, "as long as the recording"


def test_colours_and_times_are_those_of_the_screen(
    canvas: Canvas, tmp_path: Path, record: Record
) -> None:
    canvas.fill(200, 30, 60)
    encoder = record(canvas.path, tmp_path / "film", 320, 240, fps=20).wait_started()
    encoder.wait_progress(1)
    canvas.fill(10, 220, 90)
    encoder.wait_progress(3)
    encoder.stop()

    film = watch(tmp_path / "film")

    assert close_to(film.pixel(0, 100, 100), (200, 30, 60))
    assert close_to(film.pixel(-1, 300, 200), (10, 220, 90))
    changed = next(
        t for i, t in enumerate(film.times) if close_to(film.pixel(i, 9, 9), (10, 220, 90))
    )
    assert 0.9 < changed < 2.5, "it changed after the first second"
    grid = [t * 20 for t in film.times]
    assert all(abs(t - round(t)) < 0.02 for t in grid), "on the grid of 20 a second"
    assert len(film.frames) <= 8, "frames like the one before are not encoded"


@pytest.mark.parametrize("form", [MP4, WEBM], ids=["mp4", "webm"])
@pytest.mark.parametrize("size", [(321, 241), (17, 16), (1023, 767)], ids=str)
def test_odd_sizes_are_recorded_whole(
    tmp_path: Path, record: Record, form: int, size: tuple[int, int]
) -> None:
    canvas = Canvas(tmp_path / "framebuffer", *size)
    canvas.fill(250, 250, 10)
    encoder = record(canvas.path, tmp_path / "film", *size, form=form).wait_started()
    encoder.stop()

    film = watch(tmp_path / "film")

    assert (film.width, film.height) == ((size[0] + 1) // 2 * 2, (size[1] + 1) // 2 * 2)
    assert close_to(film.pixel(0, film.width - 1, film.height - 1), (250, 250, 10), 16)


@pytest.mark.parametrize("form", [MP4, WEBM], ids=["mp4", "webm"])
@pytest.mark.parametrize("still", [False, True], ids=["moving", "still"])
def test_what_a_killed_encoder_wrote_can_be_played(
    display: Display, screen: Screen, tmp_path: Path, record: Record, form: int, still: bool
) -> None:
    if not still:
        expect(display.python(MOVING), "moving")
    encoder = record(display.framebuffer, tmp_path / "film", form=form).wait_started()
    encoder.wait_progress(8 if still else 4)
    if not still:
        encoder.wait_frames(75)  # what it told last may be in the fragment that is lost

    encoder.process.kill()
    encoder.process.wait()
    film = watch(tmp_path / "film")

    assert film.times[-1] > 1.5, "all but the last moments"
    assert len(film.frames) >= (2 if still else 30)


def test_a_still_screen_costs_little(
    display: Display, screen: Screen, tmp_path: Path, record: Record
) -> None:
    encoder = record(display.framebuffer, tmp_path / "still").wait_started()
    before = encoder.cpu()
    encoder.wait_progress(4)
    still = encoder.cpu() - before
    encoder.stop()
    expect(display.python(MOVING), "moving")
    encoder = record(display.framebuffer, tmp_path / "moving").wait_started()
    before = encoder.cpu()
    encoder.wait_progress(8 if still else 4)
    moving = encoder.cpu() - before
    encoder.stop()

    assert still < moving / 2


def test_it_ends_after_its_time(canvas: Canvas, tmp_path: Path, record: Record) -> None:
    encoder = record(canvas.path, tmp_path / "film", 320, 240, max_seconds=1)

    stopped = encoder.wait_stopped()

    assert (stopped.reason, stopped.milliseconds) == (TIME, 1000)
    assert watch(tmp_path / "film").times[-1] == pytest.approx(1.0, abs=0.04)


@pytest.mark.parametrize("form", [MP4, WEBM, APNG, GIF], ids=["mp4", "webm", "apng", "gif"])
def test_it_never_writes_more_than_it_may(
    canvas: Canvas, tmp_path: Path, record: Record, form: int
) -> None:
    most = 600_000
    encoder = record(canvas.path, tmp_path / "film", 320, 240, form=form, max_bytes=most)
    encoder.wait_started()
    while encoder.process.poll() is None:
        canvas.noise(0.2)

    stopped = encoder.wait_stopped()

    assert stopped.reason == SIZE
    assert 100_000 < (tmp_path / "film").stat().st_size <= most
    assert watch(tmp_path / "film").frames, "and what there is can be played"


def test_a_full_disk_is_told_and_what_fits_can_be_played(
    canvas: Canvas, tmp_path: Path, record: Record
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "film", disk]).returncode:
        pytest.skip("may not mount here")
    try:
        encoder = record(canvas.path, disk / "film", 320, 240)
        encoder.wait_started()
        while encoder.process.poll() is None:
            canvas.noise(0.2)

        stopped = encoder.wait_stopped()

        assert stopped.reason == DISK_FULL
        assert "no space" in stopped.detail
        (tmp_path / "copy").write_bytes((disk / "film").read_bytes())
    finally:
        subprocess.run(["umount", "-l", disk], check=True)
    assert (tmp_path / "copy").stat().st_size > 100_000


def test_a_screen_that_goes_away_ends_the_recording_well(
    canvas: Canvas, tmp_path: Path, record: Record
) -> None:
    encoder = record(canvas.path, tmp_path / "film", 320, 240).wait_started()
    encoder.wait_progress(1)

    os.truncate(canvas.path, 5000)

    assert encoder.wait_stopped().reason == SOURCE_GONE
    assert watch(tmp_path / "film").frames


def test_a_front_that_goes_away_ends_the_recording_well(
    canvas: Canvas, tmp_path: Path, record: Record
) -> None:
    encoder = record(canvas.path, tmp_path / "film", 320, 240).wait_started()
    encoder.wait_progress(1)

    encoder.socket.close()

    assert encoder.process.wait(30) == 0
    assert watch(tmp_path / "film").frames


@pytest.mark.parametrize(
    "wish",
    [{"fps": 0}, {"fps": 1000}, {"form": 4}, {"stride": 100}, {"max_seconds": 0}, {"max_bytes": 1}],
    ids=str,
)
def test_a_wish_out_of_limits_is_refused(
    canvas: Canvas, tmp_path: Path, record: Record, wish: dict[str, int]
) -> None:
    stopped = record(canvas.path, tmp_path / "film", 320, 240, **wish).wait_stopped()

    assert stopped.reason == ERROR
    assert "out of limits" in stopped.detail


def test_it_is_sealed_before_it_sees_a_pixel(
    canvas: Canvas, tmp_path: Path, record: Record
) -> None:
    encoder = record(canvas.path, tmp_path / "film", 320, 240).wait_started()
    process = Path(f"/proc/{encoder.process.pid}")
    status = dict(
        line.split(":\t", 1)
        for line in (process / "status").read_text().splitlines()
        if ":\t" in line
    )

    assert status["Seccomp"].strip() == "2"
    assert status["NoNewPrivs"].strip() == "1"
    assert status["Threads"].strip() == "1"
    assert {int(fd.name) for fd in (process / "fd").iterdir()} == {0, 1, 2, 3, 4, 5, 6}
    assert "Max core file size        0 " in (process / "limits").read_text()
