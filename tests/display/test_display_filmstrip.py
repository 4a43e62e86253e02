# SPDX-License-Identifier: Apache-2.0
"""Pictures on the way: what the screen showed while code ran, when, and after how much output."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import Any

import pytest
from screenshots import colour, opened
from served import Session, Stream

STEPS = (
    "import tkinter, time\nr = tkinter.Tk()\nr.geometry('200x200+0+0')\n"
    "for name in ('#ff0000', '#00ff00', '#0000ff'):\n"
    " r.configure(bg=name); r.update(); time.sleep(.4); print(name, flush=True)"
)
RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def colours(frames: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    return [colour(opened(base64.b64decode(one["image"])), 100, 100) for one in frames]


def most(found: list[int | None]) -> int | None:
    """The one that is there most often: a look may come while the next line has begun."""
    return max(set(found), key=found.count)


def without_repeats(seen: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return [one for n, one in enumerate(seen) if n == 0 or seen[n - 1] != one]


def test_a_picture_whenever_the_screen_changes(session: Session) -> None:
    execution = session.run(STEPS, capture={"on_change": True})

    frames = execution["frames"]
    seen = [one for one in without_repeats(colours(frames)) if one in (RED, GREEN, BLUE)]
    assert execution["outcome"] == "ok" and seen == [RED, GREEN, BLUE]
    times = [one["at_ms"] for one in frames]
    offsets = [one["stdout_offset"] for one in frames]
    assert times == sorted(times) and times[-1] >= 800
    assert (
        offsets == sorted(offsets) and offsets[-1] >= len("#ff0000\n#00ff00\n") and not offsets[0]
    )
    again = session.call("GET", f"/executions/{execution['id']}").json
    assert "frames" not in again, "pictures are not kept in the history"


def test_each_picture_has_the_line_that_ran(session: Session) -> None:
    code = (
        "import tkinter, time\nr = tkinter.Tk()\nr.geometry('200x200+0+0')\n"
        "r.configure(bg='#ff0000'); r.update()\ntime.sleep(1.2)\n"
        "def green():\n r.configure(bg='#00ff00'); r.update()\n time.sleep(1.2)\ngreen()\n"
        "r.configure(bg='#0000ff'); r.update()\nend = time.monotonic() + 1.2\n"
        "while time.monotonic() < end:\n pass\n"
    )

    frames = session.run(code, capture={"every_ms": 50, "max": 100})["frames"]

    lines: dict[tuple[int, int, int], list[int | None]] = {RED: [], GREEN: [], BLUE: []}
    for shown, one in zip(colours(frames), frames, strict=True):
        lines.setdefault(shown, []).append(one["line"])
    assert most(lines[RED]) == 5 and most(lines[GREEN]) == 8 and most(lines[BLUE]) in (12, 13)
    assert all(line is None or 1 <= line <= 13 for found in lines.values() for line in found)


def test_the_line_is_of_this_execution_also_in_a_loop(session: Session) -> None:
    session.run("import tkinter, time\ndef work():\n\n\n time.sleep(1.2)")
    code = (
        "r = tkinter.Tk(); r.geometry('200x200+0+0')\nr.configure(bg='#ff0000')\n"
        "def busy():\n r.configure(bg='#00ff00'); r.update()\n time.sleep(1.2)\n"
        "def other():\n r.configure(bg='#0000ff'); r.update()\n work()\n r.quit()\n"
        "r.after(1000, busy)\nr.after(2400, other)\n\nr.mainloop()"
    )

    frames = session.run(code, capture={"every_ms": 50, "max": 100})["frames"]

    lines: dict[tuple[int, int, int], list[int | None]] = {}
    for shown, one in zip(colours(frames), frames, strict=True):
        lines.setdefault(shown, []).append(one["line"])
    assert most(lines[RED]) == 13, "the loop itself"
    assert most(lines[GREEN]) == 5, "a callback"
    assert most(lines[BLUE]) == 8, "what was called, not what was defined before"


def test_nobody_knows_the_line_while_c_code_holds_the_lock(session: Session) -> None:
    session.run(
        "import ctypes, tkinter\nr = tkinter.Tk(); r.configure(bg='#ff0000')\n"
        "r.geometry('200x200+0+0'); r.update()"
    )
    code = "libc = ctypes.PyDLL(None)\n\nlibc.usleep(1500000)\n"

    frames = session.run(code, capture={"every_ms": 50, "max": 40})["frames"]

    assert [one["line"] for one in frames].count(None) >= len(frames) // 2 > 5, frames[0]


def test_a_worker_that_tells_nonsense_is_only_shown(session: Session) -> None:
    """The line is the worker's word: code may write what it likes there, and gets a number shown."""
    lie = (
        "import _vitrine, tkinter, time\nr = tkinter.Tk(); r.configure(bg='#ff0000')\n"
        "r.geometry('200x200+0+0'); r.update()\nend = time.monotonic() + 1\n"
        "from vitrine_runtime import worker\nid = worker.session().execution.id\n"
        "while time.monotonic() < end: _vitrine.send_line(id, 4294967295)"
    )

    execution = session.run(lie, capture={"every_ms": 50, "max": 20})

    assert execution["outcome"] == "ok"
    assert 4294967295 in [one["line"] for one in execution["frames"]]


def test_pictures_at_a_steady_pace_up_to_a_number(session: Session) -> None:
    execution = session.run(STEPS, capture={"every_ms": 50, "max": 4})

    frames = execution["frames"]
    assert len(frames) == 4
    assert all(b["at_ms"] - a["at_ms"] >= 25 for a, b in pairwise(frames))


def test_both_kinds_of_pictures_at_once(session: Session) -> None:
    execution = session.run(STEPS, capture={"on_change": True}, capture_screenshot=True)

    assert colours(execution["frames"])[-1] == BLUE
    assert colours([{"image": execution["screenshot"]}]) == [BLUE]


def test_the_stream_has_them_as_they_come(session: Session) -> None:
    stream = Stream(session, STEPS, capture={"on_change": True})
    kinds = []
    last: dict[str, Any] = {}
    for last in stream:
        kinds.append(last["type"])
    stream.close()

    assert kinds.index("frame") < kinds.index("stdout"), kinds
    assert kinds.count("frame") == len(last["execution"]["frames"]) >= 3


def test_code_without_a_window_has_none_and_a_note(session: Session) -> None:
    execution = session.run("6 * 7", capture={"every_ms": 20})

    assert execution["frames"] == [] and execution["results"][0]["text/plain"] == "42"
    assert any("no screenshots" in note for note in execution["notes"])


def test_a_session_that_dies_keeps_what_was_seen(session: Session) -> None:
    execution = session.run(
        STEPS + "\nimport os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        capture={"on_change": True},
    )

    assert execution["outcome"] == "crashed" and BLUE in colours(execution["frames"])


@pytest.mark.parametrize(
    "wish",
    [{}, {"every_ms": 5}, {"every_ms": 100, "on_change": True}, {"on_change": False},
     {"on_change": True, "max": 101}, {"on_change": True, "max": 0}, {"fps": 3}],
)  # fmt: skip
def test_wishes_that_are_refused(session: Session, wish: dict[str, Any]) -> None:
    session.exec("1", capture=wish).is_problem(422, "invalid_field")
