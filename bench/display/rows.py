# SPDX-License-Identifier: Apache-2.0
"""What was measured: printed as a table, kept as JSON in the form of the server's suite."""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


@dataclasses.dataclass
class Row:
    metric: str
    unit: str
    p50: float
    n: int
    best: float | None = None
    p99: float | None = None
    beside: str = ""
    beside_p50: float | None = None
    ratio: float | None = None
    target: str = ""
    verdict: str = ""

    def judged(self, target: str, reached: bool) -> Row:
        return dataclasses.replace(self, target=target, verdict="ok" if reached else "MISSED")

    def beside_of(self, name: str, samples: Sequence[float]) -> Row:
        if not samples:
            return self
        theirs = statistics.median(samples)
        ratio = theirs / self.p50 if self.p50 else None
        return dataclasses.replace(self, beside=name, beside_p50=theirs, ratio=ratio)


def row(metric: str, unit: str, samples: Sequence[float]) -> Row:
    """p99 only where there are enough to speak of one."""
    ordered = sorted(samples)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))] if len(ordered) >= 50 else None
    return Row(metric, unit, statistics.median(ordered), len(ordered), best=ordered[0], p99=p99)


def one(metric: str, unit: str, value: float, n: int = 1) -> Row:
    return Row(metric, unit, value, n)


class Report:
    """Rows and notes of a run, and under which conditions it was made."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self._began = time.monotonic()
        self._cpu = _cpu_ticks()

    def add(self, *rows: Row) -> None:
        for added in rows:
            self.rows.append(added)
            print(_line(added), flush=True)

    def note(self, text: str) -> None:
        self.notes.append(text)
        print("  note:", text, flush=True)

    def conditions(self, ours: float) -> dict[str, str]:
        """`ours`: seconds of processor time that this run used, its servers and peers included."""
        busy, total = (now - then for now, then in zip(_cpu_ticks(), self._cpu, strict=True))
        others = max(0.0, busy - ours * os.sysconf("SC_CLK_TCK")) / max(total, 1)
        return {
            "machine": f"{os.cpu_count()} cores, Linux {os.uname().release}",
            "time": f"{time.monotonic() - self._began:.0f} s",
            "other programs had": f"{100 * others:.0f} % of the machine",
        }

    def save(self, path: Path, conditions: dict[str, str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        rows: list[dict[str, Any]] = [dataclasses.asdict(each) for each in self.rows]
        whole = {"rows": rows, "conditions": conditions, "notes": self.notes}
        path.write_text(json.dumps(whole, indent=1) + "\n")

    def missed(self) -> list[str]:
        return [each.metric for each in self.rows if each.verdict == "MISSED"]


def _line(told: Row) -> str:
    p99 = "" if told.p99 is None else f"{told.p99:10.2f}"
    beside = f"{told.beside} {told.beside_p50:.1f}" if told.beside_p50 is not None else ""
    verdict = f"{told.target}: {told.verdict}" if told.target else ""
    return (
        f"{told.metric:52} {told.p50:10.2f} {p99:>10} {told.unit:5} {told.n:5}  {beside:24} "
        f"{verdict}"
    )


def _cpu_ticks() -> tuple[int, int]:
    """Of all processors since the start: busy, and all."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)
