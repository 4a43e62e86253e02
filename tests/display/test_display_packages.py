# SPDX-License-Identifier: Apache-2.0
"""Toolkits that are no part of the image, as packages from the real index: Qt, and programs that
move mouse and keyboard from inside. Without an index these are skipped, by name."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from screenshots import colour, shot
from served import BUILD, IMAGE, ROOT, Server, Session

GREEN, RED = (0x2E, 0x8B, 0x57), (255, 0, 0)
REACH = (
    "import os, urllib.request\nfrom pip._internal.models.index import PyPI\n"
    "url = os.environ.get('PIP_INDEX_URL') or PyPI.simple_url\n"
    "urllib.request.urlopen(url.rstrip('/') + '/pynput/', timeout=10).close()"
)
QT = """
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget

app = QApplication([])
window = QWidget()
window.setWindowTitle("Qt")
window.setStyleSheet("background: #2e8b57")
edit = QLineEdit()
QVBoxLayout(window).addWidget(edit)
window.resize(400, 240)
window.move(100, 50)
window.show()
"""


@pytest.fixture(scope="module")
def online() -> Iterator[Server]:
    """A server with the host's settings, as `vitrine serve` writes them down."""
    asked = [str(ROOT / "build/venv/bin/python"), "-c", REACH]
    tried = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    if tried.returncode != 0:
        why = tried.stderr.strip().splitlines()[-1:]
        pytest.skip(f"the package index cannot be reached: {' '.join(why)}")
    place = Path(tempfile.mkdtemp(prefix="vitrine-toolkits-"))
    place.chmod(0o755)
    serve = [str(BUILD / "bin" / "vitrine"), "serve", "--data", str(place / "data")]
    serve += ["--image", str(IMAGE), "--listen", "127.0.0.1:0"]
    with open(place / "log", "wb") as log:
        process = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=log)
    assert process.stdout is not None
    ready = process.stdout.readline().decode()
    server = object.__new__(Server)
    server.process, server.data, server.log = process, place / "data", place / "log"
    server.owns_directory, server.directory = True, place
    try:
        assert ready.startswith("vitrine: ready"), (ready, server.read_log())
        server.port = int(ready.rsplit(":", 1)[1])
        yield server
    finally:
        server.end()
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def equipped(online: Server) -> Iterator[Callable[[str], Session]]:
    made: list[Session] = []

    def one(package: str) -> Session:
        patient = online.connection(170)  # a large package may have to be fetched
        answer = online.call("POST", "/v1/sessions", {"packages": [package]}, over=patient)
        patient.close()
        assert answer.status == 201, answer
        made.append(Session(online, answer.json))
        return made[-1]

    yield one
    for session in made:
        session.delete()


def test_a_qt_window_is_seen_used_and_seen_again(equipped: Callable[[str], Session]) -> None:
    session = equipped("PySide6-Essentials")

    shown = session.run(QT, capture_screenshot=True)
    looped = session.run("app.exec()", capture_screenshot=True)
    events = [{"type": "click", "x": 300, "y": 170}, {"type": "text", "text": "héllo 你"}]
    sent = session.call("POST", "/input", {"events": events})
    typed = session.value("app.processEvents(); app.processEvents(); edit.text()")
    after = session.run("window.setStyleSheet('background: #ff0000')", capture_screenshot=True)

    assert shown["outcome"] == "ok" and colour(shot(shown), 110, 60) == GREEN, shown["notes"]
    assert looped["outcome"] == "ok" and colour(shot(looped), 110, 60) == GREEN, looped
    assert any("event loop was ended" in note for note in looped["notes"])
    assert sent.status == 204 and typed == "'héllo 你'"
    assert colour(shot(after), 110, 60) == RED, "the window outlived its loop"


def test_figures_in_windows_of_qt(equipped: Callable[[str], Session]) -> None:
    session = equipped("PySide6-Essentials")
    code = (
        "import matplotlib\nmatplotlib.use('QtAgg')\nimport matplotlib.pyplot as plt\n"
        "figure = plt.figure(figsize=(4, 3), dpi=100, facecolor='#f5f5dc')\n"
        "axes = figure.add_axes([0.25, 0.25, 0.5, 0.5])\n"
        "axes.fill([0, 1, 1, 0], [0, 0, 1, 1], color='#b22222')\n"
        "plt.show()\nprint(type(figure.canvas).__name__)"
    )

    execution = session.run(code, capture_screenshot=True)

    assert execution["outcome"] == "ok" and execution["stdout"] == "FigureCanvasQTAgg\n"
    colours = {found: count for count, found in shot(execution).getcolors(1 << 20) or ()}
    assert colours[0xB2, 0x22, 0x22] > 20_000 and colours[0xF5, 0xF5, 0xDC] > 50_000


def test_code_inside_moves_mouse_and_keys(equipped: Callable[[str], Session]) -> None:
    """What PyAutoGUI does, by python-xlib and XTEST; PyAutoGUI itself has no wheel."""
    session = equipped("pynput")
    session.run(
        "import time, tkinter as tk\nroot = tk.Tk()\nroot.geometry('300x200+100+100')\nclicks = []\n"
        "entry = tk.Entry(root); entry.place(x=50, y=20)\n"
        "button = tk.Button(root, command=lambda: clicks.append(1), bg='#ff0000')\n"
        "button.place(x=100, y=100, width=100, height=50)\nroot.update()\n"
        "def pump(done):\n"
        "  for _ in range(500):\n"
        "    root.update()\n"
        "    if done(): return\n"
        "    time.sleep(.01)"
    )
    code = (
        "from pynput.mouse import Button, Controller as Mouse\n"
        "from pynput.keyboard import Controller as Keyboard\n"
        "mouse = Mouse()\nmouse.position = (250, 225)\nmouse.click(Button.left)\n"
        "pump(lambda: clicks)\nmouse.position = (200, 130)\nmouse.click(Button.left)\n"
        "pump(lambda: root.focus_get() is entry)\nKeyboard().type('Hello, wörld')\n"
        "pump(lambda: len(entry.get()) == 12)\nprint(clicks, mouse.position, entry.get())"
    )

    done = session.run(code)
    grabbed = session.value("from PIL import ImageGrab; ImageGrab.grab().getpixel((210, 210))")

    assert done["stdout"] == "[1] (200, 130) Hello, wörld\n", done
    assert grabbed == "(255, 0, 0)"
