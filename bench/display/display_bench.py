# SPDX-License-Identifier: Apache-2.0
"""The numbers of the display: pictures, first windows, recordings, many screens at once, and ten
real programs under every policy. Prints a table and writes build/bench/display.json, from which
`./dev bench docs` makes docs/display-numbers.md.

`./dev bench display [--quick] [--only PART,...] [--json FILE]`
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if (ROOT / "build" / "release" / "bin" / "vitrine-keeper").exists():
    os.environ.setdefault("VITRINE_BUILD", str(ROOT / "build" / "release"))
sys.path[:0] = [str(ROOT / "tests" / "contract"), str(ROOT / "tests" / "display")]

import crowd  # noqa: E402
import films  # noqa: E402
import pictures  # noqa: E402
import programs_sweep  # noqa: E402
from rows import Report  # noqa: E402
from served import Server  # noqa: E402

# Captures of each program; a session with smolagents takes a second to start.
ROUNDS = {"native": 20, "restricted": 20, "smolagents": 5}
PARTS = ("still", "capture", "first", "record", "crowd", "programs", "policies")


def measure(report: Report, parts: set[str], *, quick: bool) -> None:
    server = Server("--pool", "4")
    try:
        if "still" in parts:
            pictures.still(server, report, 100 if quick else 400)
        if "capture" in parts:
            pictures.captures(server, report, 20 if quick else 60)
        if "first" in parts:
            pictures.first_windows(server, report, 10 if quick else 30)
        if "record" in parts:
            films.recording(server, report, 1 if quick else 3, 3 if quick else 6)
        if "crowd" in parts:
            crowd.displays(server, report, 10 if quick else 50)
        for policy, rounds in ROUNDS.items():
            if ("programs" if policy == "native" else "policies") in parts:
                programs_sweep.sweep(server, report, 2 if quick else rounds, policy)
    finally:
        server.end()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer of everything: a minute")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench" / "display.json")
    options = parser.parse_args()
    parts = set(options.only.split(","))
    if unknown := parts - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there is {', '.join(PARTS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended
    report = Report()
    measure(report, parts, quick=options.quick)
    # The server is our child and has ended: its time, and that of its children, is known by now.
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    conditions = report.conditions(sum(one.ru_utime + one.ru_stime for one in used))
    report.save(options.json, conditions)
    print("; ".join(f"{name}: {value}" for name, value in conditions.items()))
    print(f"written: {options.json}; ./dev bench docs puts it into docs/display-numbers.md")
    if missed := report.missed():
        print("missed:", ", ".join(name.strip() for name in missed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
