# SPDX-License-Identifier: Apache-2.0
"""Displays are apart from each other and from everything else, die alone, and leave nothing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from screenshots import colour, is_blank, seen, shot
from served import Background, Server, Session, family, processes, until

RED = "import tkinter\nr = tkinter.Tk()\nr.geometry('200x200+0+0')\nr.configure(bg='#ff0000')\nr.update()"


def servers_of(server: Server) -> list[int]:
    found = []
    for pid, _ in family(server.process.pid):
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == "Xvfb":
                found.append(pid)
        except OSError:
            continue
    return found


def test_a_session_sees_only_its_own_windows(create: Callable[..., Session]) -> None:
    first, second = create(), create()
    first.run(RED)

    assert (
        second.run("import tkinter\nt = tkinter.Tk()\nt.withdraw()\nt.update()")["outcome"] == "ok"
    )

    assert colour(seen(first), 100, 100) == (255, 0, 0)
    assert is_blank(seen(second))


def test_a_display_needs_its_cookie(session: Session) -> None:
    code = (
        "import os, subprocess, sys\n"
        "env = {**os.environ, 'XAUTHORITY': '/dev/null'}\n"
        "p = subprocess.run([sys.executable, '-c', 'import tkinter; tkinter.Tk()'], env=env,"
        " capture_output=True, text=True)\nprint(p.returncode, p.stderr[-300:])"
    )

    out = session.run(code)["stdout"]

    assert out.startswith("1 ") and "display" in out, out


def test_nobody_listens_on_an_abstract_name(session: Session) -> None:
    session.run(RED)
    code = (
        "import socket\nfound = []\nfor n in range(0, 200):\n"
        " s = socket.socket(socket.AF_UNIX)\n"
        " try: s.connect(f'\\0/tmp/.X11-unix/X{n}'); found.append(n)\n"
        " except OSError: pass\nprint(found)"
    )

    assert session.run(code)["stdout"] == "[]\n"


def test_session_code_can_neither_see_nor_signal_its_server(session: Session) -> None:
    session.run(RED)
    code = (
        "import os, signal\n"
        "print(sorted(p for p in os.listdir('/proc') if p.isdigit()))\n"
        "own = set(map(int, os.listdir('/proc/self/task')))\n"
        "for p in range(2, 400):\n"
        " if p not in own:\n"
        "  try: os.kill(p, signal.SIGKILL)\n"
        "  except OSError: pass\n"
        "r.update(); print('alive')"
    )

    assert session.run(code)["stdout"].endswith("alive\n")
    assert colour(seen(session), 100, 100) == (255, 0, 0)


def test_the_socket_cannot_be_taken_away(session: Session) -> None:
    code = (
        "import os\nfor what in (lambda: os.unlink('/tmp/.X11-unix/X99'),"
        " lambda: os.rename('/tmp/.X11-unix', '/tmp/x'), lambda: os.rmdir('/tmp/.X11-unix'),"
        " lambda: open('/tmp/.X11-unix/authority', 'w'), lambda: os.mkdir('/tmp/.X11-unix/y'),"
        " lambda: os.chmod('/tmp/.X11-unix/X99', 0)):\n"
        " try: what(); print('done')\n except OSError as e: print(e.errno)"
    )

    assert "done" not in session.run(code)["stdout"]
    assert session.run(RED)["outcome"] == "ok"


def test_the_framebuffer_is_out_of_reach(session: Session) -> None:
    session.run(RED)
    code = (
        "import os\nfound = []\nfor d, _, files in os.walk('/'):\n"
        " if d.startswith('/proc'): continue\n"
        " found += [d + '/' + f for f in files if 'Xvfb_screen' in f]\nprint(found)"
    )

    assert session.run(code)["stdout"] == "[]\n"


def test_a_server_that_dies_is_said_and_replaced(start_server: Callable[..., Server]) -> None:
    server = start_server()
    session = server.create()
    child = "import subprocess, sys\np = subprocess.run([sys.executable, '-c', '''" + RED + "'''])"
    assert session.run(child)["outcome"] == "ok"
    before = servers_of(server)
    assert len(before) == 1

    os.kill(before[0], signal.SIGKILL)
    assert until(lambda: not servers_of(server))
    execution = session.run("1", capture_screenshot=True)

    assert any("X server ended" in note for note in execution["notes"]), execution["notes"]
    assert execution["outcome"] == "ok" and is_blank(shot(execution))
    again = session.run(RED, capture_screenshot=True)
    assert colour(shot(again), 100, 100) == (255, 0, 0)
    assert not any("X server ended" in note for note in again["notes"])
    assert len(servers_of(server)) == 1
    assert server.stop() == (0, [])


def test_a_server_is_started_only_when_wanted_and_ends_with_its_session(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    session = server.create()
    session.run("1 + 1", capture_screenshot=True)
    assert servers_of(server) == []

    session.run(RED)
    assert len(servers_of(server)) == 1

    assert session.delete().status == 204
    assert until(lambda: servers_of(server) == [])
    assert server.stop() == (0, [])


def test_huge_windows_and_pixmaps_harm_nobody_else(
    create: Callable[..., Session], server: Server
) -> None:
    neighbour = create()
    neighbour.run(RED)
    session = create(limits={"memory_mb": 128, "disk_mb": 16})

    big = session.run(
        "import tkinter\nr = tkinter.Tk()\nr.geometry('65535x65535+0+0')\nr.update()",
        capture_screenshot=True,
    )
    assert big["screenshot"] is not None
    greedy = session.run(
        "images = []\nfor i in range(60): images.append(tkinter.PhotoImage(width=2000, height=2000)); "
        "images[-1].put('#ff0000', to=(0, 0, 2000, 2000)); "
        "tkinter.Label(r, image=images[-1]).place(x=0, y=0); r.update()"
    )

    assert greedy["outcome"] in ("oom", "crashed", "exception"), greedy["outcome"]
    assert colour(seen(neighbour), 100, 100) == (255, 0, 0)
    assert neighbour.value("1 + 1") == "2"


RESTLESS = (
    "import tkinter, itertools\nr = tkinter.Tk()\nr.geometry('300x300+0+0')\n"
    "for n in itertools.count():\n    r.configure(bg=f'#{n * 12345 % (1 << 24):06x}'); r.update()"
)


PATIENT = RESTLESS + "; __import__('time').sleep(0.05)"


def test_who_waits_for_a_still_screen_keeps_nobody_else_waiting(
    create: Callable[..., Session],
) -> None:
    neighbour, attacker = create(), create()
    neighbour.run(RED)
    code = Background(lambda: attacker.run(RESTLESS, timeout_s=40))
    assert until(lambda: attacker.call("GET", "/windows").json["windows"])

    def wait_for_stillness() -> int:
        """Again and again: an animation that gets no CPU time for a moment is still."""
        while (answer := attacker.call("GET", "/screenshot?wait=still&max_ms=30000")).status == 200:
            pass
        return answer.status

    began = time.monotonic()
    waiting = [Background(wait_for_stillness) for _ in range(12)]

    for _ in range(5):
        assert colour(seen(neighbour, "?wait=still"), 100, 100) == (255, 0, 0)
        assert neighbour.run("1", capture_screenshot=True)["screenshot"]

    assert time.monotonic() - began < 30, "the neighbour waited for as long as one of them"
    assert not any(one.is_over() for one in waiting)
    attacker.delete()
    for one in waiting:
        assert one.result() == 404
    code.settle()


def test_who_reads_pictures_slowly_keeps_nobody_else_waiting(
    create: Callable[..., Session], server: Server
) -> None:
    neighbour = create()
    neighbour.run(RED)
    attacker = create(display={"width": 2048, "height": 2048})
    noise = (
        "import os, tkinter\nr = tkinter.Tk()\nr.geometry('2048x2048+0+0')\n"
        "i = tkinter.PhotoImage(data=b'P6 2048 2048 255 ' + os.urandom(3 * 2048 * 2048))\n"
        "tkinter.Label(r, image=i).place(x=0, y=0); r.update()"
    )
    assert attacker.run(noise)["outcome"] == "ok"
    request = f"GET {attacker.path}/screenshot HTTP/1.1\r\nHost: {server.host}\r\n\r\n".encode()
    held = [server.socket() for _ in range(10)]
    for one in held:
        one.sendall(request)
    assert held[0].recv(12) == b"HTTP/1.1 200"

    for _ in range(5):
        assert colour(seen(neighbour), 100, 100) == (255, 0, 0)

    for one in held:
        one.close()
    assert until(lambda: attacker.call("GET", "/screenshot?scale=0.1").status == 200)


@pytest.mark.serial
def test_screens_that_are_looked_at_leave_the_front_to_others(
    create: Callable[..., Session],
) -> None:
    """Each look costs the one thread that serves everybody; many who look share a part of it."""
    neighbour = create()

    def median() -> float:
        times = []
        for _ in range(60):
            began = time.monotonic()
            neighbour.run("1")
            times.append(time.monotonic() - began)
        return sorted(times)[30]

    attackers = [create(limits={"cpus": 0.1}) for _ in range(24)]

    def beside(**more: object) -> float:
        tasks = [
            Background(lambda one=one: one.exec(PATIENT, timeout_s=60, **more)) for one in attackers
        ]
        for one in attackers:
            assert until(lambda one=one: one.call("GET", "/windows").json.get("windows"))
        measured = median()
        for one, task in zip(attackers, tasks, strict=True):
            one.call("POST", "/interrupt")
            task.settle()
            one.call("POST", "/reset")
        return measured

    plain = beside()
    watched = beside(capture_screenshot=True, display_time=60)

    assert watched < 8 * plain, (plain, watched)


def test_a_helper_that_cannot_answer_keeps_nobody_else_waiting(
    create: Callable[..., Session],
) -> None:
    neighbour, attacker = create(), create()
    neighbour.run(RED)
    attacker.run(RED)
    x11 = (Path(__file__).resolve().parents[1] / "escape" / "x11.py").read_text()
    assert attacker.put("x11.py", x11.encode()).status in (201, 204)
    grab = "from x11 import X\none = X()\none.send(36)\none.sync()"  # GrabServer
    assert attacker.run(grab)["outcome"] == "ok"
    waiting = [Background(lambda: attacker.call("GET", "/screenshot?window=tk")) for _ in range(12)]

    for _ in range(5):
        assert colour(seen(neighbour, "?window=tk"), 100, 100) == (255, 0, 0)

    assert not all(one.is_over() for one in waiting)
    assert attacker.run("one.close()")["outcome"] == "ok"
    for one in waiting:
        assert one.result().status in (200, 503, 504)


def test_one_shots_with_windows_leave_nothing_to_the_next(server: Server) -> None:
    for _ in range(5):
        assert server.post("/v1/run", {"code": RED}).json["outcome"] == "ok"
        plain = server.post(
            "/v1/run",
            {"code": "import os; print(sorted(os.listdir('/tmp')))", "capture_screenshot": True},
        ).json
        assert plain["stdout"] == "['.X11-unix', '.runtime']\n"
        assert is_blank(shot(plain))
    assert until(lambda: servers_of(server) == [] or server.listed())


def test_nothing_is_left_when_the_keeper_is_killed(start_server: Callable[..., Server]) -> None:
    server = start_server()
    server.create().run(RED)
    members = family(server.process.pid)
    assert len(servers_of(server)) == 1

    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait()

    assert until(lambda: not members & processes().keys())
