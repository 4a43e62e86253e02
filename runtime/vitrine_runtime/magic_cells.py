# SPDX-License-Identifier: Apache-2.0
"""Cell magics: `%%name arguments` and the rest of the cell."""

from __future__ import annotations

import contextlib
import io
import os
import re
import time
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from .sealed import __builtins__  # noqa: F401
from .transform import CellMagic

if TYPE_CHECKING:
    from .magics import Magics

BASH = "/bin/bash"
MIME = {
    "html": "text/html",
    "javascript": "application/javascript",
    "latex": "text/latex",
    "markdown": "text/markdown",
    "svg": "image/svg+xml",
}
_OPTIONS = re.compile(r"-(n|r)\s*(\d+)\s+|-(q|o|c|t)\s+")


def sh(magics: Magics, cell: CellMagic) -> None:
    magics.shell_script(cell.body, "/bin/sh")


def bash(magics: Magics, cell: CellMagic) -> None:
    magics.shell_script(cell.body, BASH if os.path.exists(BASH) else "/bin/sh")


def show(magics: Magics, cell: CellMagic) -> None:
    magics.display({MIME[cell.name]: cell.body}, raw=True)


def writefile(magics: Magics, cell: CellMagic) -> None:
    words = cell.arguments.split()
    append = "-a" in words
    names = [word for word in words if word != "-a"]
    if len(names) != 1:
        raise SyntaxError("%%writefile [-a] needs one file name")
    path = os.path.expanduser(names[0].strip("\"'"))
    exists = os.path.exists(path)
    with open(path, "a" if append else "w", encoding="utf-8") as file:
        file.write(cell.body)
    print(f"{'Appending to' if append else 'Overwriting' if exists else 'Writing'} {path}")


class Captured:
    """What %%capture name keeps; call it to print it again."""

    def __init__(self, stdout: str, stderr: str) -> None:
        self.stdout = stdout
        self.stderr = stderr

    def __call__(self) -> None:
        print(self.stdout, end="")

    def __str__(self) -> str:
        return self.stdout


def capture(magics: Magics, cell: CellMagic) -> None:
    """Python's own output of the cell, kept instead of shown."""
    names = [word for word in cell.arguments.split() if not word.startswith("-")]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            magics.run_part(cell.body, cell.offset)
    finally:
        if names:
            magics.names[names[0]] = Captured(out.getvalue(), err.getvalue())


def time_it_once(magics: Magics, cell: CellMagic) -> object:
    return timed(lambda: magics.run_part(cell.body, cell.offset), time)


def timed(call: Callable[[], object], clock: ModuleType) -> object:
    """Runs `call` and prints how long it took, also when it raises."""
    cpu, wall = clock.process_time(), clock.perf_counter()
    try:
        return call()
    finally:
        cpu, wall = clock.process_time() - cpu, clock.perf_counter() - wall
        print(f"CPU time: {_duration(cpu)}, wall time: {_duration(wall)}")


def timeit(magics: Magics, cell: CellMagic) -> None:
    measure(magics, cell.body, cell.arguments or "pass")


def measure(magics: Magics, statement: str, setup: str) -> None:
    """The best known way to time small code: many loops, several times over."""
    import timeit as library

    loops, repeats = 0, 7
    while True:
        option = _OPTIONS.match(statement)
        if option is None:
            break
        if option[1] == "n":
            loops = int(option[2])
        elif option[1] == "r":
            repeats = max(1, int(option[2]))
        statement = statement[option.end() :]
    timer = library.Timer(statement, setup, globals=magics.names)
    if not loops:
        loops, _ = timer.autorange()
    times = [spent / loops for spent in timer.repeat(repeats, loops)]
    mean = sum(times) / len(times)
    deviation = (sum((t - mean) ** 2 for t in times) / len(times)) ** 0.5
    print(
        f"{_duration(mean)} ± {_duration(deviation)} per loop "
        f"(mean ± std. dev. of {repeats} runs, {loops:,} loops each)"
    )


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
