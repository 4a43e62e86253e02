# SPDX-License-Identifier: Apache-2.0
"""Episodes of one owner may get the shell of an earlier one: nothing of that is left in it."""

from __future__ import annotations

from collections.abc import Callable

from served import Server, until

from clients import generic

LEAVE = """\
import multiprocessing.shared_memory as memory, os, subprocess
open('left.txt', 'w').write('secret'); open('/tmp/left.txt', 'w').write('secret')
os.makedirs('.config'); secret = 'secret'; os.environ['LEFT'] = 'secret'
kept = memory.SharedMemory('left', create=True, size=16)
child = subprocess.Popen(['sleep', '600'])
print(os.path.exists('left.txt'), child.pid > 0)
"""
LOOK = """\
import os
shown = sorted(os.listdir('.')), sorted(os.listdir('/tmp')), sorted(os.listdir('/dev/shm'))
programs = [open(f'/proc/{p}/cmdline').read() for p in os.listdir('/proc') if p.isdigit()]
print(*shown, 'secret' in globals(), 'LEFT' in os.environ, any('sleep' in one for one in programs))
"""
NOTHING = "[] ['.X11-unix', '.runtime'] [] False False False\n"


def recycled(server: Server) -> int:
    return int(server.get("/v1/info").json["pools"]["recycled"])


def test_an_episode_finds_nothing_of_the_one_before(start_server: Callable[..., Server]) -> None:
    server = start_server("--pool", "0", "--shells", "1")
    with generic(f"http://{server.host}") as env:
        for _ in range(4):
            env.reset()
            assert env.step({"code": LOOK}).observation["stdout"] == NOTHING
            assert env.step({"code": LEAVE}).observation["stdout"] == "True True\n"


def test_the_shell_of_an_episode_serves_the_next(start_server: Callable[..., Server]) -> None:
    server = start_server("--pool", "0", "--shells", "1")
    with generic(f"http://{server.host}") as env:
        env.reset()
        env.step({"code": "1"})
        env.reset()
        env.step({"code": "1"})

        assert until(lambda: recycled(server) == 1)


def test_an_episode_with_a_window_leaves_its_shell_to_nobody(
    start_server: Callable[..., Server],
) -> None:
    server = start_server("--pool", "0", "--shells", "1")
    with generic(f"http://{server.host}") as env:
        env.reset()
        env.step({"code": "import tkinter; tkinter.Tk().update()"})
        env.reset()
        env.step({"code": "1"})

        assert until(lambda: len(server.listed()) == 1)
        assert recycled(server) == 0
