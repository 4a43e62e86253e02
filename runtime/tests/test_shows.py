# SPDX-License-Identifier: Apache-2.0
"""Windows are painted when the code has returned or raised, and kept painted until the picture is taken."""

from __future__ import annotations

import time

import pytest
from screens import Screen
from sessions import Done, Session
from test_loop_ends import FIGURE, GTK, PYGAME, QT, ROOT, needs


def shown(
    session: Session, screen: Screen, code: str, x: int = 250, y: int = 150, render_ms: int = 8000
) -> Done:
    session.start(code, render_ms=render_ms)

    def look() -> str:
        screen.waits_for(lambda: not screen.is_blank(), patience=5)
        time.sleep(0.2)
        return screen.colour(x, y)

    return session.wait(look=look)


def test_nothing_is_painted_unless_it_is_wanted(onscreen: Session, screen: Screen) -> None:
    done = onscreen.run(ROOT)

    assert done.order == ["finished"] and screen.is_blank()


def test_a_window_without_a_loop(onscreen: Session, screen: Screen) -> None:
    done = shown(onscreen, screen, ROOT)

    assert (done.outcome, done.seen, done.notes) == ("ok", "#0000ff", [])


def test_the_window_of_code_that_raises(onscreen: Session, screen: Screen) -> None:
    done = shown(
        onscreen, screen, ROOT + "def f():\n    local = root\n    raise ValueError(1)\nf()"
    )

    assert (done.outcome, done.seen) == ("exception", "#0000ff")
    assert done.order == ["painted", "error", "finished"]


def test_two_roots(onscreen: Session, screen: Screen) -> None:
    second = "other = tk.Tk()\nother.geometry('300x200+500+400')\nother.configure(bg='#ff0000')"
    onscreen.start(ROOT + second, render_ms=2000)

    done = onscreen.wait(
        look=lambda: screen.shows(250, 150, "#0000ff") and screen.shows(650, 550, "#ff0000")
    )

    assert done.seen


def test_callbacks_that_call_each_other_for_ever(onscreen: Session, screen: Screen) -> None:
    chain = "def again():\n    root.after_idle(again)\nagain()"

    # They never rest: the window is painted at the end of the time.
    done = shown(onscreen, screen, ROOT + "root.update()\n" + chain, render_ms=1500)

    assert (done.outcome, done.seen, done.notes) == ("ok", "#0000ff", [])


def test_callbacks_that_keep_a_window_from_being_mapped(onscreen: Session, screen: Screen) -> None:
    chain = "def again():\n    root.after_idle(again)\nagain()"  # Tk waits for the last of them

    onscreen.start(ROOT + chain, render_ms=1000)
    done = onscreen.wait(look=lambda: time.sleep(3))  # so it has to give up by itself

    assert done.outcome == "ok" and "callback" in done.notes[0]
    assert onscreen.run("1 + 1").value == "2"


def test_a_callback_that_raises_is_printed(onscreen: Session, screen: Screen) -> None:
    done = shown(
        onscreen, screen, ROOT + "root.after(1, lambda: 1 / 0)\nimport time\ntime.sleep(.01)"
    )

    assert (done.outcome, done.seen) == ("ok", "#0000ff")
    assert "ZeroDivisionError" in done.stderr


def test_a_callback_that_exits_ends_nothing(onscreen: Session, screen: Screen) -> None:
    done = shown(onscreen, screen, ROOT + "root.after_idle(lambda: exit(3))")
    after = onscreen.run("root.after(10, root.quit)\nroot.mainloop()\n1")

    assert (done.outcome, after.outcome, after.value) == ("ok", "ok", "1")


def test_a_callback_that_blocks_is_stopped(onscreen: Session, screen: Screen) -> None:
    block = "import time\nroot.after(1, lambda: time.sleep(60))\ntime.sleep(.01)"
    onscreen.start(ROOT + block, render_ms=300)

    done = onscreen.wait(look=lambda: time.sleep(3))

    assert (done.outcome, done.stderr) == ("ok", "")
    assert len(done.notes) == 1 and "callback" in done.notes[0] and "painted" in done.order
    assert onscreen.run("1 + 1").value == "2"


def test_a_picture_that_is_taken_does_not_wait_for_a_callback(
    onscreen: Session, screen: Screen
) -> None:
    block = "import time\nroot.after(1, lambda: time.sleep(60))\ntime.sleep(.01)"
    onscreen.start(ROOT + block, render_ms=50_000)
    time.sleep(0.5)

    onscreen.end_loop()

    assert onscreen.wait(patience=20).outcome == "ok"


def test_an_interrupt_ends_the_painting(onscreen: Session, screen: Screen) -> None:
    onscreen.start(ROOT, render_ms=60_000)

    def look() -> None:
        onscreen.interrupt()
        time.sleep(0.2)

    done = onscreen.wait(patience=30, look=look)

    assert done.outcome == "ok"
    assert onscreen.run("1 + 1").value == "2"


def test_windows_change_between_executions(onscreen: Session, screen: Screen) -> None:
    shown(onscreen, screen, ROOT)
    for colour in ("#00ff00", "#ff0000", "#123456"):
        onscreen.start(f"root.configure(bg='{colour}')", render_ms=2000)
        assert onscreen.wait(look=lambda: screen.colour(250, 150)).seen == colour, "no round trip"


def test_a_turtle_that_does_not_update(onscreen: Session, screen: Screen) -> None:
    code = (
        "import turtle\nturtle.setup(300, 200, 100, 50)\nturtle.tracer(0)\n"
        "turtle.bgcolor('#0000ff')\nturtle.hideturtle()\nturtle.dot(60, '#ffff00')"
    )

    done = shown(onscreen, screen, code, 250, 150)

    assert (done.outcome, done.seen) == ("ok", "#ffff00")


def test_pygame_that_does_not_flip(onscreen: Session, screen: Screen) -> None:
    needs(onscreen, "pygame")

    done = shown(onscreen, screen, PYGAME + "screen.fill('#00ff00')")

    assert (done.outcome, done.seen) == ("ok", "#00ff00")


@pytest.mark.parametrize("toolkit", ["PyQt5", "gi"])
def test_other_toolkits(onscreen: Session, screen: Screen, toolkit: str) -> None:
    needs(onscreen, toolkit if toolkit == "PyQt5" else "gi; gi.require_version('Gtk', '3.0')")

    done = shown(onscreen, screen, QT if toolkit == "PyQt5" else GTK)

    assert (done.outcome, done.seen, done.notes) == ("ok", "#0000ff", [])


# -- matplotlib

PLOT = """
import matplotlib.pyplot as plt
figure = plt.figure(figsize=(3, 2), dpi=100, facecolor="#0000ff")
axes = figure.add_axes([0.25, 0.25, 0.5, 0.5], facecolor="#ffff00")
axes.set_axis_off()
axes.add_patch(plt.Rectangle((0, 0), 1, 1, color="#ff0000"))
"""
LEFT, TOP = (1024 - 300) // 2, (768 - 200) // 2


@pytest.mark.parametrize("end", ["", "plt.show()", "figure", "plt.show(block=False)"])
def test_a_figure_is_a_result_and_a_window(plotting: Session, screen: Screen, end: str) -> None:
    plotting.start(PLOT + end, render_ms=8000)

    places = ((2, 2), (150, 100), (76, 52), (299, 199), (-1, -1), (300, 200))
    done = plotting.wait(look=lambda: [screen.colour(LEFT + x, TOP + y) for x, y in places])

    assert (done.outcome, done.notes) == ("ok", [])
    assert [shown for shown in done.results if "image/png" in shown.data]
    assert done.seen == ["#0000ff", "#ff0000", "#ff0000", "#0000ff", "#000000", "#000000"]


def test_a_figure_without_a_picture_wanted_is_a_result_only(
    plotting: Session, screen: Screen
) -> None:
    done = plotting.run(PLOT)

    assert done.outcome == "ok" and done.results and screen.is_blank()


def test_the_windows_of_figures_go_with_the_next_execution(
    plotting: Session, screen: Screen
) -> None:
    shown(plotting, screen, PLOT)
    assert not screen.is_blank()

    plotting.run("1")

    assert screen.waits_for(screen.is_blank)


def test_a_transparent_figure_is_on_white(plotting: Session, screen: Screen) -> None:
    code = "import matplotlib.pyplot as plt\nf = plt.figure(figsize=(3, 2), facecolor='none')\nf.text(.1, .1, '.')"

    assert shown(plotting, screen, code, LEFT + 150, TOP + 100).seen == "#ffffff"


def test_a_display_that_lets_nobody_in_costs_only_the_window(
    plotting: Session, screen: Screen
) -> None:
    plotting.start(PLOT, render_ms=500, env={"XAUTHORITY": "/dev/null"})

    done = plotting.wait()

    assert done.outcome == "ok" and done.results and screen.is_blank()
    assert any("does not let us in" in note for note in done.notes)


def test_without_a_display_a_note_says_so(session: Session) -> None:
    needs(session, "matplotlib.pyplot")
    session.start("import os\nos.environ.pop('DISPLAY', None)\n" + PLOT, render_ms=500)

    done = session.wait()

    assert done.outcome == "ok" and done.results
    assert any("no window" in note for note in done.notes)


@pytest.mark.parametrize("end", ["", "plt.show()"])
def test_a_figure_in_a_window_of_a_toolkit(onscreen: Session, screen: Screen, end: str) -> None:
    needs(onscreen, "matplotlib.pyplot")

    done = shown(onscreen, screen, FIGURE + end, 250, 150)

    assert (done.outcome, done.seen) == ("ok", "#0000ff")


def test_show_returns_also_when_nobody_looks(onscreen: Session, screen: Screen) -> None:
    needs(onscreen, "matplotlib.pyplot")

    done = onscreen.run(FIGURE + "plt.show()\nprint('went on')")

    assert (done.outcome, done.stdout, done.stderr) == ("ok", "went on\n", "")
    assert screen.waits_for(lambda: screen.colour(250, 150) == "#0000ff")
