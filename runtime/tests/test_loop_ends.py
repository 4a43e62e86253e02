# SPDX-License-Identifier: Apache-2.0
"""Event loops that never return are ended after the picture; computations are not."""

from __future__ import annotations

import time

import pytest
from screens import Screen
from sessions import Done, Session

ENDED = "the event loop was ended after the screenshot"
ROOT = """
import tkinter as tk
root = tk.Tk()
root.geometry("300x200+100+50")
root.configure(bg="#0000ff")
"""
PYGAME = """
import os
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"
os.environ["SDL_VIDEO_WINDOW_POS"] = "100,50"
import pygame
pygame.display.init()
screen = pygame.display.set_mode((300, 200))
screen.fill("#0000ff")
pygame.display.flip()
"""
FIGURE = """
import matplotlib
matplotlib.use("TkAgg")
import matplotlib.pyplot as plt
figure = plt.figure(figsize=(3, 2), facecolor="#0000ff")
figure.canvas.manager.window.wm_geometry("+100+50")
"""

PLOT_PAUSE = """
import matplotlib.pyplot as plt
figure = plt.figure(figsize=(9, 7), facecolor="#0000ff")
figure.text(0.9, 0.9, "x")
while True:
    plt.pause(0.05)
"""
QT = """
from PyQt5 import QtWidgets
app = QtWidgets.QApplication([])
widget = QtWidgets.QWidget()
widget.setStyleSheet("background-color: #0000ff")
widget.setGeometry(100, 50, 300, 200)
widget.show()
"""
GTK = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk, Gdk
style = Gtk.CssProvider()
style.load_from_data(b"window { background-color: #0000ff; }")
Gtk.StyleContext.add_provider_for_screen(Gdk.Screen.get_default(), style, 800)
window = Gtk.Window()
window.set_default_size(300, 200)
window.move(100, 50)
window.show_all()
"""

ROWS = {
    "tk mainloop, idle": ROOT + "root.mainloop()",
    "tk.mainloop": ROOT + "tk.mainloop()",
    "tk mainloop, after(16)": ROOT
    + "def tick():\n    root.after(16, tick)\ntick()\nroot.mainloop()",
    "tk, busy in callbacks": ROOT
    + "def tick():\n    sum(range(200_000))\n    root.after(1, tick)\ntick()\nroot.mainloop()",
    "tk, a class": ROOT
    + "class App(tk.Frame):\n    def run(self):\n        self.mainloop()\nApp(root).run()",
    "tk, its own loop": ROOT + "import time\nwhile True:\n    root.update()\n    time.sleep(0.01)",
    "tk, a dialog": ROOT
    + "top = tk.Toplevel(root)\ntop.geometry('50x50+600+400')\nroot.wait_window(top)\nroot.mainloop()",
    "tk, a variable": ROOT + "value = tk.IntVar(root)\nroot.wait_variable(value)\nroot.mainloop()",
    "tk, a message box": ROOT
    + "from tkinter import messagebox\nroot.update()\n"
    + "answer = messagebox.askyesno('Title', 'Well?', parent=root)\nroot.mainloop()",
    "turtle.done": "import turtle\nturtle.setup(300, 200, 100, 50)\nturtle.bgcolor('#0000ff')\n"
    + "turtle.done()",
    "plt.show(block=True), TkAgg": FIGURE + "plt.show(block=True)",
    "pygame loop that ignores QUIT": PYGAME
    + "clock = pygame.time.Clock()\nwhile True:\n    for event in pygame.event.get():\n        pass\n"
    + "    pygame.display.flip()\n    clock.tick(60)",
    "pygame loop that honours QUIT": PYGAME
    + "clock = pygame.time.Clock()\nrunning = True\nwhile running:\n"
    + "    for event in pygame.event.get():\n        running = event.type != pygame.QUIT\n"
    + "    pygame.display.flip()\n    clock.tick(60)\npygame.quit()",
    "pygame event.wait": PYGAME + "while True:\n    pygame.event.wait()",
    "plt.pause": PLOT_PAUSE,
    "plt.show, an animation": FIGURE
    + "from matplotlib.animation import FuncAnimation\nline = figure.add_axes([0.1, 0.1, 0.2, 0.2]).plot([0, 1])[0]\n"
    + "def draw(i):\n    line.set_ydata([0, i % 7])\n    return (line,)\n"
    + "moving = FuncAnimation(figure, draw, interval=30, cache_frame_data=False)\nplt.show()",
    "Qt exec": QT + "app.exec_()",
    "Gtk.main": GTK + "Gtk.main()",
    "pygame event.wait that honours QUIT": PYGAME
    + "while pygame.event.wait().type != pygame.QUIT:\n    pass",
}


def needs(session: Session, *modules: str) -> None:
    for name in modules:
        if session.run(f"import {name}").outcome != "ok":
            pytest.skip(f"no {name}")


def painted_then_ended(session: Session, screen: Screen, code: str, how: str = "still") -> Done:
    session.start(code, render_ms=500)
    assert screen.waits_for(lambda: screen.colour(250, 150) == "#0000ff"), session.wait(patience=1)
    time.sleep(0.3)  # the client waits until the screen is still
    session.end_loop(how)
    return session.wait(patience=20)


@pytest.mark.parametrize("name", ROWS)
def test_a_loop_ends_and_the_session_goes_on(onscreen: Session, screen: Screen, name: str) -> None:
    if "pygame" in name:
        needs(onscreen, "pygame")
    if "plt" in name:
        needs(onscreen, "matplotlib")
    if "Qt" in name:
        needs(onscreen, "PyQt5")
    if "Gtk" in name:
        needs(onscreen, "gi", "gi; gi.require_version('Gtk', '3.0')")

    done = painted_then_ended(onscreen, screen, ROWS[name] + "\nprint('went on')")

    assert (done.outcome, done.exit_code, done.error, done.stderr) == ("ok", 0, None, "")
    assert ENDED in done.notes and "painted" not in done.order
    again = "root = tk.Tk()\nroot.geometry('300x200+500+400')\nroot.configure(bg='#00ff00')"
    # Callbacks that never rest are painted at the end of the time.
    render_ms = 1500 if "busy" in name else 8000
    onscreen.start("import tkinter as tk\n" + again, render_ms=render_ms)
    after = onscreen.wait(look=lambda: screen.shows(650, 550, "#00ff00"))
    assert (after.outcome, after.notes, after.seen) == ("ok", [], True)


def test_code_behind_the_loop_runs(onscreen: Session, screen: Screen) -> None:
    done = painted_then_ended(onscreen, screen, ROOT + "root.mainloop()\nprint('bye')\n6 * 7")

    assert (done.outcome, done.stdout, done.value) == ("ok", "bye\n", "42")


def test_the_window_lives_on_after_its_loop(onscreen: Session, screen: Screen) -> None:
    painted_then_ended(onscreen, screen, ROOT + "root.mainloop()")

    onscreen.start("root.configure(bg='#00ff00')", render_ms=8000)

    assert onscreen.wait(look=lambda: screen.shows(250, 150, "#00ff00")).seen


def test_a_loop_that_keeps_painting(onscreen: Session, screen: Screen) -> None:
    loop = "import time, itertools\nfor i in itertools.count():\n    root.title(str(i))\n"
    code = ROOT + loop + "    root.update()\n    time.sleep(0.7)"
    onscreen.start(code, render_ms=500)
    assert screen.waits_for(lambda: screen.colour(250, 150) == "#0000ff")

    onscreen.end_loop("painting")

    done = onscreen.wait(patience=20)
    assert (done.outcome, done.notes) == ("ok", [ENDED])


@pytest.mark.parametrize(
    "work",
    [
        "end = time.monotonic() + 1.5\nwhile time.monotonic() < end:\n    sum(range(1000))",
        "time.sleep(1.5)",
        "for i in range(3):\n    time.sleep(0.5)\n    root.update()",
        "root.after(10, lambda: time.sleep(1.5))\nroot.update()\ntime.sleep(0.1)\nroot.update()",
    ],
    ids=["computing", "sleeping", "updating now and then", "a callback"],
)
def test_work_is_not_cut(onscreen: Session, screen: Screen, work: str) -> None:
    code = f"{ROOT}\nroot.update()\nimport time\n{work}\nprint('done')"

    done = painted_then_ended(onscreen, screen, code)

    assert (done.outcome, done.stdout, done.notes) == ("ok", "done\n", [])


def test_input_is_not_cut(onscreen: Session, screen: Screen) -> None:
    onscreen.start(ROOT + "root.update()\ninput('name? ')", interactive=True, render_ms=500)
    assert screen.waits_for(lambda: screen.colour(250, 150) == "#0000ff")

    onscreen.end_loop()
    time.sleep(0.6)
    onscreen.answer("Ada")

    done = onscreen.wait(look=lambda: None)
    assert (done.outcome, done.value, done.notes) == ("ok", "'Ada'", [])


def test_a_caught_keyboard_interrupt_is_not_an_interruption(
    onscreen: Session, screen: Screen
) -> None:
    needs(onscreen, "pygame")
    code = (
        PYGAME + "try:\n    while True:\n        pygame.event.wait()\n"
        "except KeyboardInterrupt:\n    print('stopped')\n'still here'"
    )

    done = painted_then_ended(onscreen, screen, code)

    assert (done.outcome, done.stdout, done.value) == ("ok", "stopped\n", "'still here'")


def test_an_interrupt_of_a_loop_is_one(onscreen: Session, screen: Screen) -> None:
    onscreen.start(
        ROOT + "def tick():\n    root.after(5, tick)\ntick()\nroot.mainloop()", render_ms=500
    )
    assert screen.waits_for(lambda: screen.colour(250, 150) == "#0000ff")

    onscreen.interrupt()

    done = onscreen.wait()
    assert (done.outcome, done.error[0] if done.error else "") == (
        "interrupted",
        "KeyboardInterrupt",
    )
    assert "painted" not in done.order


def test_an_interrupt_of_a_callback_ends_its_loop(onscreen: Session, screen: Screen) -> None:
    code = "import time\nroot.after(50, lambda: (print('at it', flush=True), time.sleep(60)))\n"
    onscreen.start(ROOT + code + "root.mainloop()", render_ms=500)
    assert screen.waits_for(lambda: screen.colour(250, 150) == "#0000ff")
    time.sleep(0.5)

    onscreen.interrupt()

    done = onscreen.wait(patience=20)
    assert (done.outcome, done.stdout, done.stderr) == ("interrupted", "at it\n", "")


def test_the_next_execution_is_never_hit(onscreen: Session, screen: Screen) -> None:
    assert onscreen.run(ROOT + "root.update()").outcome == "ok"
    for round in range(50):
        onscreen.start("root.mainloop()", render_ms=500)
        time.sleep(0.002 * (round % 5))
        onscreen.end_loop()
        # It may come before the loop, in it or behind it: it holds until the execution is over.
        assert onscreen.wait(patience=20).outcome == "ok"

        onscreen.start(
            "ticks = []\nroot.after(30, lambda: (ticks.append(1), root.quit()))\nroot.mainloop()\nticks",
            render_ms=500,
        )
        done = onscreen.wait(patience=20, look=lambda: None)
        assert (done.outcome, done.value, done.notes) == ("ok", "[1]", []), f"round {round}"


def test_a_quit_that_nobody_saw_is_forgotten(onscreen: Session, screen: Screen) -> None:
    needs(onscreen, "pygame")
    loop = "for i in range(200):\n    pygame.display.flip()\n    pygame.time.wait(10)"
    painted_then_ended(onscreen, screen, f"{PYGAME}\n{loop}", "painting")

    done = onscreen.run("[e for e in pygame.event.get() if e.type == pygame.QUIT]", render_ms=100)

    assert done.value == "[]"
