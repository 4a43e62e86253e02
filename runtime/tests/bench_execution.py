# SPDX-License-Identifier: Apache-2.0
"""What the runtime itself costs: from receive() returning to send_finished() being called.

Run as `python bench_execution.py [bare|loaded]`; prints microseconds (minimum, median) per cell.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
CELLS = {
    "1+1": "1+1",
    "x = 1": "x = 1",
    "print": "print('x')",
    "def and call": "def f(x):\n    return x + 1\nf(2)",
    "list": "[1, 2, 3]",
    "exception": "1 / 0",
}


def nothing(*arguments: object) -> None:
    return None


def measure(variant: str, rounds: int = 3000) -> dict[str, tuple[float, float]]:
    """Runs every cell `rounds` times in this process."""
    native: Any = ModuleType("_vitrine")
    state = {"start": 0.0}
    spent: list[float] = []
    requests: list[tuple[str, int, dict[str, Any]]] = []
    clock = time.perf_counter

    class Over(BaseException):
        pass

    def receive() -> tuple[str, int, dict[str, Any]]:
        if not requests:
            raise Over
        message = requests.pop()
        state["start"] = clock()
        return message

    def send_finished(id: int, outcome: str, exit_code: int) -> None:
        spent.append(clock() - state["start"])

    native.receive, native.send_finished = receive, send_finished
    native.send_result = native.send_error = native.send_note = nothing
    native.send_input_request = native.executing = nothing
    native.is_worker = lambda: True
    sys.modules["_vitrine"] = native
    from vitrine_runtime import worker, zygote

    zygote.warm(variant)
    here = worker.session()
    here.adopt()
    figures = {}
    for name, code in CELLS.items():
        for i in range(rounds):
            body = {"code": code, "stdin": None, "interactive": False, "env": {}}
            requests.append(("execute", i + 1, {**body, "result_limit": 1 << 20}))
        spent.clear()
        while requests:
            _, id, body = receive()
            here.execute(id, body)
        figures[name] = (min(spent) * 1e6, statistics.median(spent) * 1e6)
    return figures


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    report = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for name, (least, median) in measure(*(sys.argv[1:2] or ["bare"])).items():
        os.write(report, f"{name:14} {least:7.1f} {median:7.1f}\n".encode())
