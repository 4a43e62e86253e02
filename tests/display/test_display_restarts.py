# SPDX-License-Identifier: Apache-2.0
"""Code that kills what serves its screen: it is there again, and the next answer says so."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from screenshots import colour, seen
from served import Server, Session, family, until

RED = (
    "import tkinter\nr = tkinter.Tk()\nr.title('red')\nr.geometry('200x200+0+0')\n"
    "r.configure(bg='#ff0000')\nr.update()"
)
# Any client may end another's connection; the helper's window says whose it is.
KILL_HELPER = """
import ctypes
x = ctypes.CDLL('libX11.so.6')
x.XOpenDisplay.restype = ctypes.c_void_p
x.XDefaultRootWindow.restype = ctypes.c_ulong
x.XDefaultRootWindow.argtypes = x.XSync.argtypes = x.XCloseDisplay.argtypes = [ctypes.c_void_p]
x.XSync.argtypes = [ctypes.c_void_p, ctypes.c_int]
x.XKillClient.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
x.XInternAtom.restype = ctypes.c_ulong
x.XInternAtom.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
x.XGetWindowProperty.argtypes = [
    ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_long, ctypes.c_long, ctypes.c_int,
    ctypes.c_ulong, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
    ctypes.c_void_p]
def helper():
    d = x.XOpenDisplay(None)
    kind, form = ctypes.c_ulong(), ctypes.c_int()
    count, left = ctypes.c_ulong(), ctypes.c_ulong()
    data = ctypes.POINTER(ctypes.c_ulong)()
    x.XGetWindowProperty(
        d, x.XDefaultRootWindow(d), x.XInternAtom(d, b'_NET_SUPPORTING_WM_CHECK', 0), 0, 1, 0, 33,
        ctypes.byref(kind), ctypes.byref(form), ctypes.byref(count), ctypes.byref(left),
        ctypes.byref(data))
    window = data[0] if count.value else 0
    return d, window
refused = []
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def on_error(display, error):  # what the property names may be gone
    refused.append(1)
    return 0
x.XSetErrorHandler(on_error)
def kill():
    refused.clear()
    d, window = helper()
    if window:
        x.XKillClient(d, window)
        x.XSync(d, 0)
    x.XCloseDisplay(d)
    return bool(window) and not refused
kill()
"""
RESTARTED = "display: the screen's helper was killed"


def named(server: Server, name: str) -> list[int]:
    found = []
    for pid, _ in family(server.process.pid):
        try:
            if Path(f"/proc/{pid}/cmdline").read_text().partition("\0")[0] == name:
                found.append(pid)
        except OSError:
            continue
    return found


def test_a_killed_helper_is_started_again_and_said(session: Session) -> None:
    session.run(RED)
    assert [one["title"] for one in session.call("GET", "/windows").json["windows"]] == ["red"]

    assert session.run(KILL_HELPER)["results"][0]["text/plain"] == "True"

    def listed() -> bool:
        answer = session.call("GET", "/windows")
        if answer.status == 200:
            notes.extend(answer.json["notes"])
        return answer.status == 200 and len(answer.json["windows"]) == 1

    notes: list[str] = []
    assert until(listed)
    notes += session.run("1")["notes"]
    assert sum(RESTARTED in note for note in notes) == 1, notes
    click = {"events": [{"type": "click", "x": 100, "y": 100}]}
    assert session.call("POST", "/input", click).status == 204
    assert colour(seen(session), 100, 100) == (255, 0, 0)


def test_new_windows_are_managed_after_it(session: Session) -> None:
    session.run(RED + KILL_HELPER)
    assert until(lambda: session.call("GET", "/windows").status == 200)

    session.run("t = tkinter.Toplevel(r)\nt.title('new')\nt.geometry('100x100')\nt.update()")

    windows = {one["title"]: one for one in session.call("GET", "/windows").json["windows"]}
    assert windows["new"]["active"] and windows["new"]["x"] > 0


def test_one_that_is_killed_again_and_again_costs_little(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    session = server.create()
    session.run(RED)

    out = session.run(
        # In children: a number that the helper had may be the next client's, our own.
        KILL_HELPER + "import os, time\nend = time.monotonic() + 4\nkilled = 0\n"
        "while time.monotonic() < end:\n"
        "    pid = os.fork()\n"
        "    if pid == 0: os._exit(0 if kill() else 1)\n"
        "    killed += os.waitpid(pid, 0)[1] == 0\n"
        "killed"
    )

    assert out["outcome"] == "ok", out
    killed = int(out["results"][-1]["text/plain"])
    assert 1 <= killed <= 30, f"it was started again {killed} times in four seconds"
    assert until(lambda: session.call("GET", "/windows").status == 200)
    assert len(named(server, "vitrine-screen")) == 2, "the one who works, and the one who watches"
    assert session.delete().status == 204
    assert named(server, "vitrine-screen") == []
    assert server.stop() == (0, [])


def test_a_dead_server_is_said_in_the_next_execution_also_without_a_picture(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    session = server.create()
    child = "import subprocess, sys\np = subprocess.run([sys.executable, '-c', '''" + RED + "'''])"
    session.run(child)

    (pid,) = named(server, "Xvfb")
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: not named(server, "Xvfb"))
    assert until(lambda: "display ended session=" + session.id in server.read_log())

    notes = session.run("1")["notes"]
    assert len(notes) == 1 and notes[0].startswith("display: the X server ended (signal 9)"), notes
    assert session.run("2")["notes"] == []
    assert session.run(child)["outcome"] == "ok" and len(named(server, "Xvfb")) == 1
    assert server.stop() == (0, [])
