# SPDX-License-Identifier: Apache-2.0
"""What the README and examples/ show runs as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vitrine
from conftest import ROOT

README = (ROOT / "clients/python/README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def run(program: list[str], server: vitrine.Server | None, directory: Path) -> str:
    variables = dict(os.environ)
    variables.pop("VITRINE_URL", None)
    if server:
        variables["VITRINE_URL"] = server.url
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", *program],
        env=variables,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_ten_lines_of_the_readme(tmp_path: Path, server: vitrine.Server) -> None:
    lines = [line for line in BLOCKS[0].splitlines() if line.strip()]
    assert len(lines) <= 10

    assert run(["-c", BLOCKS[0]], server, tmp_path) == "42\n1 picture, ok\nZeroDivisionError\n"


def test_the_readme_without_a_server(tmp_path: Path) -> None:
    """With none at the default address, it starts its own."""
    assert run(["-c", BLOCKS[0]], None, tmp_path).startswith("42\n")


def test_the_readmes_openenv(tmp_path: Path, openenv_surface: str, server: vitrine.Server) -> None:
    assert run(["-c", BLOCKS[1]], server, tmp_path) == "42\n\n"


def test_the_readmes_langchain(tmp_path: Path, server: vitrine.Server) -> None:
    assert run(["-c", BLOCKS[2]], server, tmp_path) == "4\n"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bouncing_ball.py", "3 bounces"),
        ("screenshot_of.py", "picture"),
        ("batch_evaluation.py", "right         ok"),
        ("rl_rollouts.py", "64 won"),
        ("langchain_tool.py", "bytes of PNG"),
        ("drag_and_drop.py", "'saw': 'tools'"),
        ("record_a_run.py", "frames in"),
    ],
)
def test_examples(tmp_path: Path, server: vitrine.Server, name: str, says: str) -> None:
    assert says in run([str(ROOT / "examples" / name)], server, tmp_path)


@pytest.mark.parametrize("name", ["openenv", "langchain", "smolagents"])
def test_a_missing_extra_says_what_to_install(tmp_path: Path, name: str) -> None:
    """And the client itself needs none of them."""
    missing = {"openenv": "openenv", "langchain": "langchain_core", "smolagents": "smolagents"}[
        name
    ]
    code = f"""
import sys, vitrine
assert not {{"pydantic", "PIL", "openenv", "langchain_core", "smolagents"}} & set(sys.modules)
sys.modules[{missing!r}] = None
try:
    import vitrine.{name}
except ImportError as error:
    print(error)
"""
    assert f"pip install 'vitrine[{name}]'" in run(["-c", code], None, tmp_path)


def test_every_example_is_run() -> None:
    assert len(list((ROOT / "examples").glob("*.py"))) == 7
