# SPDX-License-Identifier: Apache-2.0
"""The programs below `programs/`: small real GUI programs, and what is to be seen of them.

Each says in comments `# expect: x,y=#rrggbb ...` (pixels of a screen of 1024x768), `# outcome: ...`
if it is not ok, `# note: ...` that the execution has (without one: none), `# needs: module`, and
`# env: NAME=value` of the execution.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent / "programs"


@dataclass
class Program:
    name: str
    code: str
    pixels: dict[tuple[int, int], str]
    outcome: str = "ok"
    notes: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)

    @property
    def loops(self) -> bool:
        """Whether it ends only because its loop is ended."""
        return any("event loop" in note for note in self.notes)


def read(path: Path) -> Program:
    code = path.read_text()
    said = re.findall(r"^# (expect|outcome|note|needs|env): (.+)$", code, re.MULTILINE)
    pixels = {}
    for kind, value in said:
        if kind == "expect":
            for x, y, colour in re.findall(r"(\d+),(\d+)=(#[0-9a-f]{6})", value):
                pixels[int(x), int(y)] = colour
    assert pixels, f"{path.name} expects nothing"
    program = Program(path.stem, code, pixels)
    program.outcome = next((value for kind, value in said if kind == "outcome"), "ok")
    program.notes = [value for kind, value in said if kind == "note"]
    program.needs = [value for kind, value in said if kind == "needs"]
    program.env = dict(value.split("=", 1) for kind, value in said if kind == "env")
    return program


def programs() -> list[Program]:
    return [read(path) for path in sorted(HERE.glob("*.py"))]
