# SPDX-License-Identifier: Apache-2.0
"""Rewards: those of OpenEnv to the digit, and rules of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from served import Background, Server

from clients import FirstGeneration, Frames, generic

LONG = "x = 1\n" * 30
CELLS = {
    "short ok": ("x = 1", 0.1),
    "long ok": (LONG, 0.0),
    "short bad": ("x = = 1", -0.1),
    "long bad": (LONG + "x = = 1", -0.2),
    "pattern short ok": ("import os", -0.9),
    "pattern long ok": ("import os\n" + LONG, -1.0),
    "pattern short bad": ("import os ===", -1.1),
    "pattern long bad": ("import os ===\n" + LONG, -1.2),
}
VECTORS = [
    ("print(1)", 0.1),
    ("", 0.1),
    ("import os", -0.9),
    ("import ostrich", -0.9),
    ("from os import path", 0.1),
    ("import sys, os", 0.1),
    ("myexec('1')", -0.9),
    ("reopen(1)", -0.9),
    ("import\nos", -1.1),
    ("x" * 100, 0.1),
    ("x" * 101, 0.0),
    ("def f(:", -0.1),
    ("x = 1\0", -0.1),
    ("import subprocess", -0.9),
    ("eval('1')", -0.9),
    ("exec('1')", -0.9),
    ("__import__", -0.9),
    ("# open(", -0.9),
    ("'import os'", -0.9),
    ("import os; eval('exec(1)')", -0.9),  # the first of them counts, the others no more
    ("import\u00a0os", -1.1),
    ("import\u3000os", -1.1),
    ("Import os", -0.1),
    ("\u00e9" * 100, 0.1),  # characters, not bytes
    (" " * 200 + "\n1", 0.1),  # of what is left once it is stripped
    ("!ls", -0.1),
    ("%time 1", -0.1),
    (" x = 1", -0.1),
    ("if 1:\n\tx\n        y", -0.1),
    ("1 / 0", 0.1),
]


@pytest.mark.parametrize("case", CELLS.values(), ids=CELLS.keys())
def test_the_eight_cells(url: str, case: tuple[str, float]) -> None:
    code, reward = case
    with generic(url) as env:
        assert env.step({"code": code}).reward == reward


def test_the_vectors(url: str) -> None:
    with generic(url) as env:
        assert env.reset().reward == 0.0
        got = [(code, env.step({"code": code}).reward) for code, _ in VECTORS]
        assert got == [(code, pytest.approx(reward, abs=1e-12)) for code, reward in VECTORS]
        assert env.reset().reward == 0.0


def test_the_first_generation_gets_the_same(url: str) -> None:
    env = FirstGeneration(url)
    assert env.reset()["reward"] == 0.0
    assert [env.step(code)["reward"] for code in ("1", "import os")] == [0.1, -0.9]


def test_rewards_are_written_as_python_writes_them(server: Server) -> None:
    for code, text in (("1", b'"reward":0.1,'), (LONG, b'"reward":0.0,')):
        assert text in server.post("/step", {"action": {"code": code}}).body


def test_a_session_cannot_touch_the_judge(url: str) -> None:
    code = "import ast, re\nast.parse = re.search = lambda *a, **k: None\nlen = None"
    with generic(url) as env:
        env.step({"code": code})
        assert env.step({"code": "def f(:"}).reward == -0.1
        assert env.step({"code": "import os"}).reward == -0.9


def test_code_that_breaks_a_parser_costs_nobody_else_a_reward(url: str) -> None:
    hostile = ["-" * 1_000_000 + "1", "(" * 100_000, "[" * 90 + "]" * 90, "x" + ".x" * 300_000]

    def break_it(code: str) -> Any:
        with Frames(url) as frames:
            return frames.ask({"type": "step", "data": {"code": code}})

    tasks = [Background(lambda code=code: break_it(code)) for code in hostile * 2]
    with generic(url) as env:
        for _ in range(30):
            assert env.step({"code": "1"}).reward == 0.1
    assert all(task.result()["type"] == "observation" for task in tasks)
    with generic(url) as env:
        assert env.step({"code": "1"}).reward == 0.1


def test_without_rules_every_reward_is_0(start_server: Callable[..., Server]) -> None:
    server = start_server(front=("--reward", "none"))
    with generic(f"http://{server.host}") as env:
        env.reset()
        assert env.step({"code": "import os"}).reward == 0.0


OWN = {
    "groups": [
        {"rules": [{"if": {"outcome": ["ok"]}, "add": 1}, {"if": {"exit_code": [1]}, "add": -1}]},
        {
            "first_only": True,
            "rules": [
                {"if": {"stdout_equals": "42"}, "add": 10},
                {"if": {"stdout_matches": "4"}, "add": 5},
            ],
        },
        {
            "rules": [
                {"if": {"stderr_matches": "ZeroDivision", "code_length_at_least": 1}, "add": -0.5}
            ]
        },
        {"rules": [{"add": 0.25}]},
    ]
}


DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(document: str, language: str) -> list[str]:
    text = (DOCS / document).read_text()
    return [part.partition("```")[0] for part in text.split(f"```{language}\n")[1:]]


@pytest.mark.parametrize("number", [0, 1])
def test_the_rules_of_the_manual_are_good(
    start_server: Callable[..., Server], tmp_path: Path, number: int
) -> None:
    server = start_server(
        front=("--reward", str(readable(tmp_path, blocks("rewards.md", "json")[number])))
    )
    with generic(f"http://{server.host}") as env:
        codes = ("42", "print('it is 42')", "def f(:", "import os", "import os; os._exit(1)")
        got = [env.step({"code": code}).reward for code in codes]
    assert got == [[1.1, 0.6, -0.5, 0.1, -1.0], [0.1, 0.1, -0.1, -0.9, -0.9]][number]


def test_the_example_of_the_manual_works(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    [code] = blocks("openenv.md", "python")

    exec(code.replace("http://127.0.0.1:8000", url), {})

    assert capfd.readouterr().out.split() == ["3", "0.1"]


def readable(directory: Path, rules: str) -> Path:
    """A file that the front may read, which has a uid of its own."""
    for one in (directory, *list(directory.parents)[:2]):
        one.chmod(0o755)
    file = directory / "rules.json"
    file.write_text(rules)
    file.chmod(0o644)
    return file


@pytest.fixture
def own_rules(start_server: Callable[..., Server], tmp_path: Path) -> Server:
    return start_server(front=("--reward", str(readable(tmp_path, json.dumps(OWN)))))


def test_own_rules_see_what_came_of_the_code(own_rules: Server) -> None:
    with generic(f"http://{own_rules.host}") as env:
        assert env.step({"code": "print(42)"}).reward == 11.25
        assert env.step({"code": "print(144)"}).reward == 6.25
        assert env.step({"code": "1 / 0"}).reward == -1.25
        assert env.step({"code": "42"}).reward == 11.25  # the value is part of what is seen
