# SPDX-License-Identifier: Apache-2.0
"""Real GUI programs, run as users run them: the picture shows what they drew, and they come back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import Program, programs
from screenshots import colour, is_blank, opened, seen, shot
from served import BUILD, Background, Server, Session


def check(program: Program, execution: dict) -> None:
    assert execution["outcome"] == program.outcome, execution
    image = shot(execution)
    assert image.size == (1024, 768)
    for (x, y), wanted in program.pixels.items():
        found = "#{:02x}{:02x}{:02x}".format(*colour(image, x, y))
        assert found == wanted, (program.name, x, y)
    for note in program.notes:
        assert any(note in told for told in execution["notes"]), execution["notes"]


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_a_program_is_seen_as_it_was_drawn(
    program: Program, create: Callable[..., Session]
) -> None:
    session = create()
    for module in program.needs:
        if session.run(f"import {module}")["outcome"] != "ok":
            pytest.skip(f"the image has no {module}")

    execution = session.run(program.code, capture_screenshot=True, env=program.env)

    check(program, execution)
    assert session.value("40 + 2") == "42", "its state is kept"


def test_a_one_shot_has_a_picture_too(server: Server) -> None:
    program = next(one for one in programs() if one.name == "tk_canvas")

    answer = server.post("/v1/run", {"code": program.code, "capture_screenshot": True})

    assert answer.status == 200, answer
    check(program, answer.json)


def test_captures_in_a_row_all_succeed(create: Callable[..., Session]) -> None:
    chosen = [one for one in programs() if not one.needs][:5]
    for program in chosen:
        session = create()
        for _ in range(3):
            check(program, session.run(program.code, capture_screenshot=True))


def test_figures_that_take_long_to_draw_are_seen_whole(create: Callable[..., Session]) -> None:
    """Drawn again when their window is told its size; meanwhile nothing changes. On busy processors."""
    program = next(one for one in programs() if one.name == "plot_tkagg")
    dots = (
        "import numpy as np\naxes.scatter(*np.random.rand(2, 20_000), s=1, marker='+', c='#b22222')"
    )
    code = program.code.replace("plt.show()", dots + "\nplt.show()")
    sessions = [create() for _ in range(4)]
    if sessions[0].run("import matplotlib")["outcome"] != "ok":
        pytest.skip("the image has no matplotlib")

    tasks = [Background(lambda one=one: one.run(code, capture_screenshot=True)) for one in sessions]

    for task in tasks:
        check(program, task.result())


def test_code_without_a_window_has_a_blank_picture_and_a_note(session: Session) -> None:
    execution = session.run("x = 1", capture_screenshot=True)

    assert execution["outcome"] == "ok" and is_blank(shot(execution))
    assert any("blank: no window was opened" in note for note in execution["notes"])


def test_a_window_that_is_not_shown_is_said_so(session: Session) -> None:
    code = "import tkinter\nr = tkinter.Tk()\nr.withdraw()\nr.update()"

    execution = session.run(code, capture_screenshot=True, render_timeout=0.2)

    assert is_blank(shot(execution))
    assert any("display is blank" in note for note in execution["notes"]), execution["notes"]


def test_no_picture_unless_asked(session: Session) -> None:
    assert "screenshot" not in session.run("1")


def test_a_computation_is_never_cut(session: Session) -> None:
    code = (
        "import tkinter, time\nr = tkinter.Tk()\nr.geometry('200x200+0+0')\nr.configure(bg='#ff0000')\n"
        "r.update()\ntime.sleep(1.2)\nr.configure(bg='#00ff00')\nr.update()\ndone = True"
    )

    execution = session.run(code, capture_screenshot=True, display_time=0.2)

    assert execution["outcome"] == "ok" and session.value("done") == "True"
    assert colour(shot(execution), 100, 100) == (0, 255, 0), "the last picture counts"


def test_a_session_that_dies_leaves_the_last_frame(session: Session) -> None:
    code = (
        "import tkinter, time, os\nr = tkinter.Tk()\nr.geometry('200x200+0+0')\n"
        "r.configure(bg='#ff0000')\nr.update()\ntime.sleep(0.5)\nos._exit(3)"
    )

    execution = session.run(code, capture_screenshot=True)

    assert execution["outcome"] == "crashed" and execution["exit_code"] == 3
    assert colour(shot(execution), 100, 100) == (255, 0, 0)


def test_the_stream_shows_the_picture_before_the_end(session: Session) -> None:
    program = next(one for one in programs() if one.name == "tk_canvas")
    body = {"code": program.code, "capture_screenshot": True}

    answer = session.call("POST", "/exec", body, headers={"Accept": "application/x-ndjson"})

    events = [json.loads(line) for line in answer.body.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds.index("screenshot") < kinds.index("finished")
    picture = next(event["data"] for event in events if event["type"] == "screenshot")
    assert picture == events[-1]["execution"]["screenshot"] and picture


def test_a_window_of_an_earlier_execution_is_still_there(session: Session) -> None:
    session.run(
        "import tkinter\nr = tkinter.Tk()\nr.geometry('100x100+10+10')\nr.configure(bg='#0000ff')"
    )

    execution = session.run("y = 2", capture_screenshot=True)

    assert colour(shot(execution), 50, 50) == (0, 0, 255)


def test_pictures_after_another_front_took_over(start_server: Callable[..., Server]) -> None:
    server = start_server()
    session = server.create()
    program = next(one for one in programs() if one.name == "tk_canvas")
    check(program, session.run(program.code, capture_screenshot=True))

    server.kill_front()

    assert colour(seen(session), *next(iter(program.pixels))) != (0x20, 0x24, 0x2B)
    check(program, session.run(program.code, capture_screenshot=True))


def test_metrics_count_pictures(server: Server, session: Session) -> None:
    before = server.metrics()
    session.run("1", capture_screenshot=True)
    session.run("import tkinter; r = tkinter.Tk()", capture_screenshot=True)
    after = server.metrics()

    for result in ("blank", "ok"):
        name = f'vitrine_screenshots_total{{result="{result}"}}'
        assert after[name] == before[name] + 1
    assert (
        after["vitrine_screenshot_seconds_count"] >= before["vitrine_screenshot_seconds_count"] + 2
    )


def test_the_command_line_puts_the_picture_into_a_file(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "red.png"
    code = (
        "import tkinter\nr = tkinter.Tk(); r.geometry('200x100+0+0'); r['bg'] = 'red'\nr.mainloop()"
    )
    command = [BUILD / "bin" / "vitrine", "run", "-c", code, "--screenshot", str(file)]
    done = subprocess.run(
        [*command, "--url", f"http://127.0.0.1:{server.port}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done
    assert colour(opened(file.read_bytes()), 50, 50) == (255, 0, 0)
