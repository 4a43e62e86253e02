# SPDX-License-Identifier: Apache-2.0
"""Pictures, windows, input and recordings of a session's screen, sync and async."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import vitrine

WINDOW = (
    "import tkinter\nr = tkinter.Tk()\nr.title('form')\nr.geometry('200x100+10+20')\n"
    "r.configure(bg='#ff0000')\nclicks = []\n"
    "r.bind('<Button-1>', lambda event: clicks.append((event.x, event.y)))\nr.update()"
)


def test_pictures_windows_and_input(box: vitrine.Sandbox) -> None:
    assert box.windows() == []
    box.run(WINDOW).check()

    whole = box.screenshot(wait_still=True)
    part = box.screenshot(window="form", scale=0.5)
    (window,) = [one for one in box.windows() if one.title == "form"]
    box.click(60, 70)

    assert whole.size == (1024, 768) and whole.getpixel((50, 50)) == (255, 0, 0)
    assert part.size == (100, 50)
    assert (window.x, window.y, window.width, window.height) == (10, 20, 200, 100)
    assert box.run("r.update(); clicks").value == [(50, 50)]


def test_a_recording_while_a_block_runs(box: vitrine.Sandbox, tmp_path: Path) -> None:
    with box.record(tmp_path / "film.webm", fps=10) as recording:
        assert recording.info.state == "recording" and recording.info.format == "webm"
        box.run(WINDOW).check()

    film = (tmp_path / "film.webm").read_bytes()
    assert film.startswith(b"\x1a\x45\xdf\xa3") and len(film) == recording.info.bytes
    assert recording.info.reason == "asked" and recording.info.frames >= 1
    assert [one.id for one in box.recordings()] == [recording.id]
    box.end()
    assert recording.read() == film, "it outlives the session"
    recording.delete()
    with pytest.raises(vitrine.NotFound):
        recording.read()


STEPS = (
    "import tkinter, time\nr = tkinter.Tk()\nr.geometry('200x200+0+0')\n"
    "for name in ('#ff0000', '#0000ff'):\n"
    "    r.configure(bg=name)\n    r.update()\n    time.sleep(.4)\n    print(name, flush=True)"
)


def test_pictures_on_the_way(box: vitrine.Sandbox) -> None:
    result = box.run(STEPS, capture=True).check()

    colours = [one.image.getpixel((100, 100)) for one in result.frames]
    assert (255, 0, 0) in colours and colours[-1] == (0, 0, 255), colours
    assert 7 in [one.line for one in result.frames]
    assert result.frames[0].stdout_offset == 0 and result.frames[0].at_ms >= 0
    events = list(box.stream(STEPS, capture={"every_ms": 100, "max": 3}))
    assert sum(one.frame is not None for one in events) == 3


def test_what_is_refused_is_an_error(box: vitrine.Sandbox) -> None:
    with pytest.raises(vitrine.InvalidField):
        box.start_recording(fps=1000)
    with pytest.raises(vitrine.Conflict):
        box.click(1, 1)


def test_the_same_to_be_awaited(server: vitrine.Server, tmp_path: Path) -> None:
    async def use() -> None:
        async with vitrine.AsyncSandbox() as box:
            async with box.record(tmp_path / "film.mp4") as recording:
                (await box.run(WINDOW)).check()
                await box.click(60, 70)
            assert recording.info.state == "ended"
            assert [one.title for one in await box.windows()] == ["form"]
            assert (await box.screenshot()).getpixel((50, 50)) == (255, 0, 0)
            strip = (await box.run(STEPS, capture={"on_change": True, "max": 5})).frames
            assert 2 <= len(strip) <= 5 and strip[0].image.size == (1024, 768)
            assert (await box.run("r.update(); len(clicks)")).value == 1
            await recording.delete()
            assert await box.recordings() == []

    asyncio.run(use())
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"
