# SPDX-License-Identifier: Apache-2.0
"""How long a picture takes: of a still screen, with an execution, of a session's first window."""

from __future__ import annotations

import base64
import http.client
import io
import time

from peers import SameDisplay, Unavailable
from PIL import Image
from rows import Report, one, row
from served import Server, Session

PICTURE_MS = 12  # P6
CAPTURE_MS = 80
FIRST_MS = 100

# What people take pictures of: widgets, text and a drawing, over most of the screen.
SCENE = """
import tkinter as tk
from tkinter import ttk
root = tk.Tk()
root.geometry("960x700+32+34")
canvas = tk.Canvas(root, bg="#ffffff", width=600, height=700, highlightthickness=0)
canvas.pack(side="left")
for n in range(60):
    colour = f"#{n * 4:02x}80{255 - n * 4:02x}"
    canvas.create_oval(n * 9, n * 10, n * 9 + 60, n * 10 + 60, fill=colour)
    canvas.create_line(600 - n * 10, 0, n * 10, 700, fill="#888888")
for n in range(20):
    ttk.Label(root, text=f"line {n}: the quick brown fox jumps over the lazy dog").pack()
root.update()
"""
# As a model writes it: nothing is said about painting.
WINDOW = """
import tkinter as tk
root = tk.Tk()
root.geometry("400x300+100+50")
root.configure(bg="#ff0000")
tk.Label(root, text="hello", font=(None, 30)).pack(pady=120)
"""
RED = (255, 0, 0)


def still(server: Server, report: Report, count: int) -> None:
    """P6, with ImageMagick's import on the same display in turns."""
    session = server.create()
    assert session.run(SCENE)["outcome"] == "ok"
    session.call("GET", "/screenshot?wait=still")
    connection = server.connection()
    ours: list[float] = []
    theirs: list[float] = []
    try:
        with SameDisplay(session) as display:
            for turn in range(count):
                taken, png = _picture(session, connection)
                ours.append(taken)
                if turn % 4 == 0:
                    taken, other = display.import_png()
                    theirs.append(taken)
                    if turn == 0:
                        _must_be_equal(png, other)
    except Unavailable as reason:
        report.note(f"without ImageMagick: {reason}")
        while len(ours) < count:
            ours.append(_picture(session, connection)[0])
    finally:
        connection.close()
    told = row("P6 still screen to base64 PNG", "ms", ours).beside_of("import", theirs)
    report.add(told.judged(f"<= {PICTURE_MS} ms", told.p50 <= PICTURE_MS))
    report.add(one("   of it: size of the PNG", "KB", len(png) / 1000))
    if theirs:
        report.add(row("   import -window root, same display", "ms", theirs))
    session.delete()


def _picture(session: Session, connection: http.client.HTTPConnection) -> tuple[float, bytes]:
    began = time.perf_counter()
    answer = session.call("GET", "/screenshot", over=connection)
    base64.b64encode(answer.body)
    taken = 1000 * (time.perf_counter() - began)
    assert answer.status == 200, answer
    return taken, answer.body


def _must_be_equal(ours: bytes, theirs: bytes) -> None:
    mine, other = (Image.open(io.BytesIO(png)).convert("RGB") for png in (ours, theirs))
    assert mine.tobytes() == other.tobytes(), "import sees another picture"


def captures(server: Server, report: Report, count: int) -> None:
    """The same execution with and without a picture, in turns; its window is new each time."""
    session = server.create()
    connection = server.connection()
    assert session.run(WINDOW + "root.update(); root.destroy()")["outcome"] == "ok"
    plain: list[float] = []
    captured: list[float] = []
    looped: list[float] = []
    for _ in range(count):
        plain.append(_execute(session, connection, WINDOW))
        captured.append(_execute(session, connection, WINDOW, picture=True))
        looped.append(_execute(session, connection, WINDOW + "root.mainloop()", picture=True))
    connection.close()
    session.delete()
    over = sorted(captured)[count // 2] - sorted(plain)[count // 2]
    report.add(row("tkinter window, plain execution", "ms", plain))
    report.add(row("   with capture_screenshot", "ms", captured))
    told = one("   capture_screenshot over plain", "ms", over, count)
    report.add(told.judged(f"<= {CAPTURE_MS} ms", over <= CAPTURE_MS))
    report.add(row("   the same in mainloop(), which is ended", "ms", looped))


def _execute(
    session: Session, connection: http.client.HTTPConnection, code: str, *, picture: bool = False
) -> float:
    body = {"code": code, **({"capture_screenshot": True} if picture else {})}
    began = time.perf_counter()
    answer = session.call("POST", "/exec", body, over=connection)
    taken = 1000 * (time.perf_counter() - began)
    done = answer.json
    assert done["outcome"] == "ok", done
    if picture:
        assert _is_red(done["screenshot"]), done["notes"]
    assert session.run("root.destroy()")["outcome"] == "ok"
    return taken


def _is_red(encoded: str) -> bool:
    image = Image.open(io.BytesIO(base64.b64decode(encoded)))
    return image.getpixel((110, 340)) == RED


def first_windows(server: Server, report: Report, count: int) -> None:
    """In sessions where no X server runs yet. A second window tells the server's part."""
    inside = "import time, tkinter; began = time.perf_counter()\n" + WINDOW
    inside += "root.update(); taken = 1000 * (time.perf_counter() - began)\nroot.destroy(); taken"
    shown: list[float] = []
    pictured: list[float] = []
    first: list[float] = []
    second: list[float] = []
    connection = server.connection()
    for _ in range(count):
        time.sleep(0.05)  # the pool is full again
        session = server.create()
        began = time.perf_counter()
        answer = session.call("POST", "/exec", {"code": inside}, over=connection)
        shown.append(1000 * (time.perf_counter() - began))
        first.append(float(answer.json["results"][-1]["text/plain"]))
        second.append(float(session.value(inside)))
        session.delete()
        time.sleep(0.05)
        session = server.create()
        pictured.append(_execute(session, connection, WINDOW, picture=True))
        session.delete()
    connection.close()
    told = row("first window of a session, on its screen", "ms", shown)
    report.add(told.judged(f"<= {FIRST_MS} ms", told.p50 <= FIRST_MS))
    report.add(row("   inside: Tk() to update() returned", "ms", first))
    report.add(row("   inside: a second window of it", "ms", second))
    part = row("", "", first).p50 - row("", "", second).p50
    report.add(one("   the X server's start, hence", "ms", part, count))
    report.add(row("first window of a session, to its picture", "ms", pictured))
