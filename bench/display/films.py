# SPDX-License-Identifier: Apache-2.0
"""What it costs to record a scene that moves all the time, at 30 frames a second."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from processes import cpu_seconds, named
from rows import Report, one, row
from served import Background, Server, Session

FPS = 30
CORE_PERCENT = 30

SCENE = """
import tkinter as tk
root = tk.Tk()
root.geometry("1024x768+0+0")
canvas = tk.Canvas(root, width=1024, height=768, bg="#102030", highlightthickness=0)
canvas.pack()
balls = []
for n in range(20):
    oval = canvas.create_oval(0, 0, 40, 40, fill=f"#{40 + 10 * n:02x}c0{250 - 10 * n:02x}")
    balls.append([oval, 50 * n, 30 * n, 5, 4])
clock = canvas.create_text(512, 40, fill="white", font=(None, 24))
count = 0
def step():
    global count
    count += 1
    canvas.itemconfigure(clock, text=f"frame {count}")
    for ball in balls:
        ball[1] += ball[3]
        ball[2] += ball[4]
        if not 0 < ball[1] < 984: ball[3] = -ball[3]
        if not 0 < ball[2] < 728: ball[4] = -ball[4]
        canvas.moveto(ball[0], ball[1], ball[2])
    root.after(15, step)
step()
root.mainloop()
"""


def recording(server: Server, report: Report, count: int, seconds: float) -> None:
    session = server.create()
    front, used, frames = server.front(), [], []
    with contextlib.closing(server.connection(600)) as patient:
        body = {"code": SCENE, "timeout_s": 600}
        running = Background(lambda: session.call("POST", "/exec", body, over=patient))
        for _ in range(count):
            costs, film = _film(server, session, front, seconds)
            used.append(costs)
            frames.append(film["frames"] / film["seconds"])
        session.call("POST", "/interrupt")
        running.result()
    session.delete()
    encoder, fronts, screens = zip(*used, strict=True)
    both = [sum(pair) for pair in zip(encoder, fronts, strict=True)]
    told = row("recording at 30 fps, moving: encoder and front", "% core", both)
    report.add(told.judged(f"<= {CORE_PERCENT} % of a core", told.p50 <= CORE_PERCENT))
    report.add(row("   of it: the front", "% core", fronts))
    report.add(row("   different frames in the film", "1/s", frames))
    report.add(one("   size of the film", "KB/s", film["bytes"] / 1000 / film["seconds"]))
    report.add(row("   besides: the X server, recorded or not", "% core", screens))


def _film(
    server: Server, session: Session, front: int, seconds: float
) -> tuple[tuple[float, float, float], dict[str, Any]]:
    """Percent of a core of encoder, front and X server, and the film."""
    answer = session.call("POST", "/recordings", {"fps": FPS})
    assert answer.status == 201, answer
    path = f"/recordings/{answer.json['id']}"
    (encoder,), (screen,) = named(server, "vitrine-encoder"), named(server, "Xvfb")
    watched = (encoder, front, screen)
    time.sleep(1)  # its start is not counted
    before = [cpu_seconds(pid) for pid in watched]
    began = time.perf_counter()
    time.sleep(seconds)
    after = [cpu_seconds(pid) for pid in watched]
    elapsed = time.perf_counter() - began
    a, b, c = (100 * (now - then) / elapsed for now, then in zip(after, before, strict=True))
    film = session.call("POST", path + "/stop").json
    session.call("DELETE", path)
    return (a, b, c), film
