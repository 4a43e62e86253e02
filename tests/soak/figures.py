# SPDX-License-Identifier: Apache-2.0
"""A measured figure beside what was promised."""

from __future__ import annotations

import argparse
import os
import platform
import time
from dataclasses import dataclass


@dataclass
class Figure:
    what: str
    seen: str
    promise: str = ""
    is_met: bool = True
    remark: str = ""
    is_time: bool = False  # depends on how busy the machine is


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def table(figures: list[Figure]) -> str:
    rows = [("figure", "seen", "promised", "")]
    for one in figures:
        verdict = "" if not one.promise else "ok" if one.is_met else "MISSED"
        rows.append((one.what, one.seen, one.promise, verdict))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    remarks = [f"  {one.what}: {one.remark}" for one in figures if one.remark]
    return "\n".join(line.rstrip() for line in [*lines, *remarks])


def document(figures: list[Figure], options: argparse.Namespace) -> str:
    lines = [
        "# Reliability",
        "",
        "`./dev soak --document docs/reliability.md` measures these figures and writes this file.",
        "Each uses a server of its own, with real sessions that are killed and attacked.",
        "",
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, Linux {platform.release()}, "
        f"{'root' if os.geteuid() == 0 else 'an ordinary user'}, "
        f"{'--quick, ' if options.quick else ''}{options.minutes:g} min of mixed load, "
        f"{sum(bool(one.promise) for one in figures)} promises, "
        f"{sum(bool(one.promise) and not one.is_met for one in figures)} missed.",
        "",
        "| Figure | Seen | Promised |",
        "|---|---|---|",
    ]
    for one in figures:
        verdict = "" if not one.promise else ": met" if one.is_met else ": **missed**"
        lines.append(f"| {one.what} | {one.seen} | {one.promise}{verdict} |")
    lines += [f"\n{one.what}: {one.remark}" for one in figures if one.remark]
    return "\n".join(lines) + "\n"
