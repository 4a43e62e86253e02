# SPDX-License-Identifier: Apache-2.0
"""Where attacks take place: a real server with a victim, a neighbour that must not notice, and a
count of everything the server owns, which must be the same afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / folder) for folder in ("contract", "faults")]

import census  # noqa: E402
from served import Server, Session, within  # noqa: E402

NOBODY = 65534
ROOT = os.geteuid() == 0
MODES = ("root", "unprivileged")
# Each with a module by which its guard is left, as a user may name one.
POLICIES: dict[str, dict[str, Any]] = {
    "native": {},
    "restricted": {"policy": "restricted", "imports": ["jinja2"]},
    "smolagents": {"policy": "smolagents", "imports": ["timeit"]},
}
SCRIPTS = HERE / "scripts"
PROBES = HERE.parent / "engine" / "victims" / "probes.py"

# The scripts import what they share without a file, which would be a trace of its own.
_PREFACE = """
import sys as _sys, types as _types
for _name, _text in {modules!r}.items():
    _module = _types.ModuleType(_name)
    _sys.modules[_name] = _module
    exec(compile(_text, _name + ".py", "exec"), _module.__dict__)
"""


# It has a file, a variable and a window, and writes down what is typed and clicked there.
_NEIGHBOUR = """
secret = 'pearl'
open('kept', 'w').write(secret)
beats = 0
import tkinter
window = tkinter.Tk()
window.title('pearl')
window.geometry('300x300+0+0')
window.configure(bg='#eae0c8')
events = []
for kind in ('<Key>', '<Button>', '<Motion>', '<Destroy>'):
    window.bind(kind, lambda event: events.append(str(event)))
window.update()
"""


def preface() -> str:
    """`probes`, `tools` and `x11`, for every script that wants them."""
    modules = {name: (HERE / f"{name}.py").read_text() for name in ("tools", "x11")}
    return _PREFACE.format(modules={"probes": PROBES.read_text(), **modules})


@dataclass
class Attack:
    """A script: `# F01: what it does`, then `# NAME: A|B` for each thing it tells."""

    path: Path
    id: str
    title: str
    expected: dict[str, set[str]]
    options: set[str]

    @classmethod
    def read(cls, path: Path) -> Attack:
        head, expected, options = "", {}, set()
        for line in path.read_text().splitlines():
            if not line.startswith("#"):
                break
            text = line.lstrip("# ")
            if text.startswith("SPDX"):
                continue
            if not head:
                head = text
            elif text.startswith("only "):
                options.add(text)
            elif found := re.match(r"(\w+): (.*)$", text):
                expected[found[1]] = set(found[2].split("|"))
        assert expected, f"{path.name} says nothing of what it should see"
        number, _, title = head.partition(": ")
        return cls(path, number, title, expected, options)

    @property
    def code(self) -> str:
        return preface() + self.path.read_text()

    def judge(self, seen: dict[str, Any], where: str) -> None:
        """It told all that it should have, and nothing but what was expected."""
        expected = " ".join(sorted({one for some in self.expected.values() for one in some}))
        note(self.id, self.title, expected, list(seen.values()), where)
        assert seen.keys() == self.expected.keys()
        for name, value in seen.items():
            unexpected = set(flat(value)) - self.expected[name]
            assert not unexpected, f"{name}: {value}"


def attacks() -> list[Attack]:
    found = [Attack.read(path) for path in sorted(SCRIPTS.glob("*.py"))]
    assert found
    return found


def flat(value: Any) -> list[str]:
    """Everything in it, as text."""
    if isinstance(value, dict):
        return [text for one in value.values() for text in flat(one)] or ["nothing"]
    if isinstance(value, list):
        return [text for one in value for text in flat(one)] or ["nothing"]
    return [str(value)]


# What the table at the end shows: attack -> (expected, seen, where)
rows: dict[tuple[str, str], dict[str, Any]] = {}


def note(number: str, title: str, expected: str, seen: Any, where: str) -> None:
    row = rows.setdefault((number, title), {"expected": expected, "seen": set(), "where": set()})
    row["seen"] |= set(flat(seen))
    row["where"].add(where)


class EscapeServer:
    """One server of one mode."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self._victims: dict[str, Session] = {}
        # Without a pool of workers one-shots run in the shells of earlier one-shots.
        user = NOBODY if mode == "unprivileged" and ROOT else None
        self.server = Server("--pool", "0", "--shells", "2", "--recycled", "1", user=user)
        try:
            self._settle()
        except BaseException:
            self.server.end()
            raise

    def _settle(self) -> None:
        self.neighbour = self.server.create(name="neighbour")
        ran = self.neighbour.run(_NEIGHBOUR)
        assert ran["outcome"] == "ok", ran
        self.beats = 0
        self.screen = self.neighbours_screen()
        # The first session and the first one-shot under smolagents start zygotes, loaded and bare,
        # that stay: before anything is counted.
        self.server.create(policy="smolagents").delete()
        self._run("1", policy="smolagents")
        assert within(self.has_smolagents_zygotes, 60), "smolagents lacks a zygote"
        self.one_shot("1")
        self.before = self.settled_count()

    def run_in(
        self, place: str, code: str, policy: str = "native", **fields: Any
    ) -> dict[str, Any]:
        if place == "session":
            return self.victim(policy).run(code, **fields)
        return self.one_shot(code, **POLICIES[policy], **fields)

    def one_shot(self, code: str, **fields: Any) -> dict[str, Any]:
        """In the shell of the one before, where shells are used again: with cgroups."""
        if self.mode == "root" and not self.has_used_shell():
            self._run("1")
            assert self.has_used_shell(), "no shell is used again"
        return self._run(code, **fields)

    def has_smolagents_zygotes(self) -> bool:
        zygotes = self.server.info()["zygotes"]
        warm = {z["variant"] for z in zygotes if z["policy"] == "smolagents" and z["warm"]}
        return warm == {"bare", "loaded"}

    def has_used_shell(self) -> bool:
        return bool(within(lambda: self.server.info()["pools"]["recycled"], 0.5))

    def _run(self, code: str, **fields: Any) -> dict[str, Any]:
        answer = self.server.post("/v1/run", {"code": code, **fields})
        assert answer.status == 200, answer
        return dict(answer.json)

    def victim(self, policy: str = "native") -> Session:
        """A session for the scripts that leave it usable."""
        if policy not in self._victims:
            self._victims[policy] = self.server.create(name="victim", **POLICIES[policy])
        return self._victims[policy]

    @contextlib.contextmanager
    def session(self, **fields: Any) -> Iterator[Session]:
        """One for this attack alone."""
        one = self.server.create(**fields)
        try:
            yield one
        finally:
            assert one.delete().status in (204, 404)

    # ---- what must not change

    def is_neighbour_well(self) -> None:
        self.beats += 1
        ran = self.neighbour.run(
            "beats += 1\nwindow.update()\n"
            "(secret, open('kept').read(), beats, __import__('os').listdir('.'), events)"
        )
        wanted = f"('pearl', 'pearl', {self.beats}, ['kept'], [])"
        assert [one["text/plain"] for one in ran["results"]] == [wanted], ran

    def is_neighbours_window_well(self) -> None:
        """Not a pixel has changed, and there is one window."""
        self.is_neighbour_well()
        assert self.neighbours_screen() == self.screen, "the neighbour's screen has changed"
        windows = self.neighbour.call("GET", "/windows").json["windows"]
        assert [one["title"] for one in windows] == ["pearl"], windows

    def neighbours_screen(self) -> bytes:
        answer = self.neighbour.call("GET", "/screenshot?wait=still")
        assert answer.status == 200 and "Vitrine-Notes" not in answer.headers, answer
        return answer.body

    def count(self) -> census.Census:
        info = self.server.info()
        roles = census.Roles(
            keeper=info["processes"]["keeper"],
            builder=info["processes"]["builder"],
            foundation=info["processes"]["foundation"],
            zygotes={one["variant"]: one["pid"] for one in info["zygotes"]},
        )
        outer = census.namespace(roles.foundation, "user")
        found = census.take(roles, self.server.name, outer, [self.server.directory])
        front = info["processes"]["front"]
        found.counts["descriptors of the front"] = census.descriptors(front)
        found.counts["who"] = Counter({f"keeper {roles.keeper}": 1, f"front {front}": 1})
        # Long results of ended sessions are kept for a while, by design.
        for name in [one for one in found.counts["files"] if "/blobs/" in one]:
            del found.counts["files"][name]
        return found

    def drop_victims(self) -> None:
        for one in self._victims.values():
            assert one.delete().status == 204
        self._victims.clear()

    def settled_count(self) -> census.Census:
        """After the pools are full again."""
        seen = [self.count()]

        def same() -> bool:
            seen.append(self.count())
            return not seen[-2].difference(seen[-1])

        assert within(same, 20), seen[-2].difference(seen[-1])
        return seen[-1]

    def is_as_before(self) -> None:
        """The server owns what it owned before the attack, and the neighbour noticed nothing."""
        assert self.server.alive(), "the keeper died"
        self.is_neighbours_window_well()
        self.drop_victims()
        self.one_shot("1")  # so that there is one used shell again
        left: list[str] = []

        def nothing_left() -> bool:
            left[:] = self.before.difference(self.count())
            return not left

        assert within(nothing_left, 8), left

    def end(self) -> None:
        try:
            self.is_as_before()
            self.neighbour.delete()
            verdict = self.server.stop()
            assert verdict == (0, []), f"{verdict}\n{self.server.read_log()}"
        finally:
            self.server.end()


running: dict[str, EscapeServer] = {}


def escape_server_of(mode: str) -> EscapeServer:
    if mode == "root" and not ROOT:
        pytest.skip("needs root: the privileged server")
    if mode not in running or not running[mode].server.alive():
        running[mode] = EscapeServer(mode)
    return running[mode]


def told(execution: dict[str, Any]) -> dict[str, Any]:
    """What a script reported: its last line."""
    assert execution["outcome"] == "ok", execution
    return dict(json.loads(execution["stdout"].splitlines()[-1]))
