# SPDX-License-Identifier: Apache-2.0
"""A session that ruins its own display: it alone suffers, whoever looks at it from outside gets an
answer in time, and nothing is left. (What leaves the display usable is in scripts/x*.py.)"""

from __future__ import annotations

import threading
from typing import Any

import pytest
from escape_server import EscapeServer, note, preface
from served import Answer, Session, until

WORDS = {"ok", "exception", "oom", "crashed", "timeout"}

# What is done, and with which outcomes it may end.
RUIN: dict[str, tuple[str, set[str]]] = {
    "X05 a million windows": (
        "one = X()\nfor n in range(1_000_000): one.window()\none.sync()",
        WORDS,
    ),
    "X39 pixmaps until nothing is left": (
        "one = X()\nfor n in range(500):\n"
        "    p = one.id(); one.verdict(53, 24, struct.pack('<IIHH', p, one.root, 4000, 4000))\n"
        "    g = one.id(); one.verdict(55, 0, struct.pack('<III', g, p, 0))\n"
        "    one.verdict(70, 0, struct.pack('<IIhhHH', p, g, 0, 0, 4000, 4000))",
        WORDS,
    ),
    "X40 a property of a gigabyte": (
        "one = X()\nfor n in range(5000): one.send(18, 2, struct.pack('<IIIBxxxI', one.root, 39, 31, 8, 200_000)"
        " + bytes(200_000))\none.sync()",
        WORDS,
    ),
    "X41 every request with random bytes": (
        "import random\nchance = random.Random(7)\n"
        "for n in range(400):\n"
        "    try:\n"
        "        one = X(wait=2)\n"
        "        for m in range(20):\n"
        "            body = chance.randbytes(4 * chance.randrange(20))\n"
        "            one.send(chance.randrange(256), chance.randrange(256), body)\n"
        "        one.close()\n"
        "    except (OSError, Refused): pass",
        {"ok", "timeout"},
    ),
    "X42 lengths that lie": (
        "for data in (b'\\1\\0\\0\\0', b'\\1\\0\\xff\\xff', b'\\x85\\0\\0\\0\\xff\\xff\\xff\\xff', b'\\0' * 100_000):\n"
        "    one = X()\n    if big := one.extension('BIG-REQUESTS'): one.ask(big)\n"
        "    try:\n        one.socket.sendall(data); one.socket.settimeout(0.3); one.socket.recv(1)\n"
        "    except OSError: pass\n"
        "    one.close()",
        {"ok"},
    ),
    "X43 never reads its answers": (
        "one = X()\none.socket.settimeout(3)\n"
        "try:\n    for n in range(2_000_000): one.send(73, 2, struct.pack('<IhhHHI', one.root, 0, 0, 1000, 700, 2**32 - 1))\n"
        "except OSError: pass",
        WORDS,
    ),
    "X44 its own connection in its own queue": (
        "import array\nfor n in range(20):\n"
        "    try:\n"
        "        one = X(wait=1)\n"
        "        fds = array.array('i', [one.socket.fileno()] * 200)\n"
        "        for m in range(8): one.socket.sendmsg([b'\\x7f\\0\\1\\0'], [(1, 1, fds)])\n"
        "        one.close()\n"
        "    except (OSError, Refused): break",
        {"ok"},
    ),
}  # fmt: skip
HEAD = "import struct\nfrom x11 import X, Refused\nwindow = X().window(0, 0, 200, 200)\n"


def answers(session: Session) -> dict[str, Answer]:
    """What those see who look at it from outside."""
    event = {"events": [{"type": "click", "x": 5, "y": 5}, {"type": "text", "text": "a"}]}
    return {
        "screenshot": session.call("GET", "/screenshot?wait=still&max_ms=300"),
        "windows": session.call("GET", "/windows"),
        "input": session.call("POST", "/input", event),
        "show": session.call("GET"),
    }


def is_typed(answer: Answer) -> bool:
    if answer.status in (200, 204):
        return True
    answer.is_problem((404, 409, 410, 503, 504))
    return True


@pytest.mark.parametrize("way", RUIN)
def test_a_session_ruins_only_its_own_display(checked_server: EscapeServer, way: str) -> None:
    number, _, title = way.partition(" ")
    code, allowed = RUIN[way]
    if checked_server.mode == "unprivileged" and "oom" in allowed:
        pytest.skip("needs root: the X server's memory is a cgroup's")
    limits = {"memory_mb": 192, "disk_mb": 32} if checked_server.mode == "root" else {}
    with checked_server.session(limits=limits) as session:
        ran = session.run(preface() + HEAD + code, timeout_s=8)

        assert all(is_typed(one) for one in answers(session).values())
        note(number, title, " ".join(sorted(allowed)), ran["outcome"], checked_server.mode)
        assert ran["outcome"] in allowed, ran
        assert session.call("POST", "/reset").status == 200
        again = session.run(preface() + HEAD + "X().sync()")
        assert again["outcome"] == "ok", again
        assert session.call("GET", "/screenshot").status == 200
    checked_server.is_neighbours_window_well()


def test_a_grabbed_server_stops_nobody_outside(checked_server: EscapeServer) -> None:
    """Pictures are read from the framebuffer; windows and input say that they got no answer."""
    with checked_server.session() as session:
        ran = session.run(preface() + HEAD + "one = X()\none.send(36)\none.sync()")
        assert ran["outcome"] == "ok", ran

        seen = answers(session)
        note("X45", "grabs its server for ever", "200 or a typed error",
             [one.status for one in seen.values()], checked_server.mode)  # fmt: skip
        assert seen["screenshot"].status == 200
        assert all(is_typed(one) for one in seen.values())
        assert session.run("one.close()")["outcome"] == "ok"
        assert until(lambda: session.call("GET", "/windows").status == 200, 20)


def test_a_dead_window_manager_is_a_typed_error(checked_server: EscapeServer) -> None:
    code = (
        "one = X()\n"
        "for client in range(1, 256):\n"
        "    if client << 21 != one.base: one.verdict(113, 0, struct.pack('<I', client << 21))\n"
    )
    with checked_server.session() as session:
        assert session.run(preface() + HEAD + code)["outcome"] == "ok"

        seen = answers(session)
        note("X03", "kills the window manager", "200 or a typed error",
             [one.status for one in seen.values()], checked_server.mode)  # fmt: skip
        assert seen["screenshot"].status == 200
        assert all(is_typed(one) for one in seen.values())


def test_pictures_are_taken_while_the_screen_is_torn(checked_server: EscapeServer) -> None:
    """Frames that change while they are read are frames: no error, no broken picture."""
    code = (
        "one = X()\nimport random\nwhile True:\n"
        "    one.window(random.randrange(800), random.randrange(600), 300, 300, random.randrange(1 << 24))\n"
        "    one.sync()\n"
    )
    with checked_server.session() as session:
        seen: list[Any] = []
        task = threading.Thread(
            target=lambda: seen.append(session.run(preface() + HEAD + code, timeout_s=6))
        )
        task.start()
        assert until(lambda: session.call("GET", "/windows").json["windows"])
        for query in ("", "?format=jpeg", "?format=webp&scale=0.3", "?region=5,5,100,100"):
            answer = session.call("GET", "/screenshot" + query)
            assert answer.status == 200 and len(answer.body) > 100, answer
        task.join()
        assert seen[0]["outcome"] in ("timeout", "oom"), seen
