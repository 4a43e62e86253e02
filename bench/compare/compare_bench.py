# SPDX-License-Identifier: Apache-2.0
"""Two builds beside each other: `./dev bench compare --against DIR`.

Runs the suites server, display and openenv with the programs of this build and of another one
alternately, and prints what each row was with either. DIR is the other's build directory, which has
`bin/vitrine`. A round measures both, one after the other, and the next begins with the other one: a
row's ratio is the median of the rounds' ratios. A row is called worse or better only if every round
says so and the median by more than a tenth; the rest is noise.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build/bench/compare.json"
NOISE = 1.1
LIMIT = 900  # seconds for one suite with one build


@dataclass
class Row:
    unit: str
    measured: list[float] = field(default_factory=list)
    against: list[float] = field(default_factory=list)

    @property
    def rounds(self) -> list[float]:
        """How many times as good the measured build is, for each round."""
        pairs = zip(self.measured, self.against, strict=True)
        ratios = [(ours / theirs if theirs else 1.0) for ours, theirs in pairs]
        return ratios if self.unit == "1/s" else [1 / one if one else 1.0 for one in ratios]

    @property
    def verdict(self) -> str:
        middle = statistics.median(self.rounds)
        if max(self.rounds) < 1 and middle < 1 / NOISE:
            return "worse"
        return "better" if min(self.rounds) > 1 and middle > NOISE else ""


def table_rows(told: dict[str, Any]) -> dict[str, tuple[str, float]]:
    """Of the suites server and display: a row belongs to the last one that is not a part of it."""
    found, whole = {}, ""
    for row in told["rows"]:
        name = str(row["metric"])
        whole = name if not name.startswith(" ") else whole
        key = name if name == whole else f"{whole}: {name.strip()}"
        if row["unit"] in ("ms", "MiB", "1/s", "KiB") and not row["metric"].startswith("null"):
            found[key] = (str(row["unit"]), float(row["p50"]))
    return found


def openenv_rows(told: dict[str, Any]) -> dict[str, tuple[str, float]]:
    found = {}
    for name, values in told.items():
        if not name.startswith("vitrine") or not isinstance(values, dict):
            continue
        for key, value in values.items():
            unit = "1/s" if key in ("rate", "opened_per_s") else "MiB" if "mib" in key else "ms"
            found[f"openenv: {name.removeprefix('vitrine').strip(' _')}: {key}"] = (unit, value)
    return found


def commands(build: Path, out: Path) -> dict[str, list[str]]:
    python = [sys.executable]
    server = [str(ROOT / "build/bin/server_bench"), "--quick", "--python", "none"]
    server += ["--only", "P1,P2,P3,P4,P5,crowd,restart", "--program", str(build / "bin/vitrine")]
    display = [*python, str(ROOT / "bench/display/display_bench.py"), "--quick"]
    openenv = [*python, str(ROOT / "bench/openenv/openenv_bench.py"), "--quick"]
    display += ["--only", "still,capture,first,record,crowd"]
    found = {"server": server, "display": display, "openenv": openenv}
    return {suite: [*command, "--json", str(out)] for suite, command in found.items()}


def measure(suite: str, build: Path) -> dict[str, tuple[str, float]]:
    with tempfile.TemporaryDirectory(prefix="vitrine-compare-") as directory:
        out = Path(directory) / "rows.json"
        done = subprocess.run(
            commands(build, out)[suite],
            env=os.environ | {"VITRINE_BUILD": str(build)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
        )
        if not out.exists():
            raise SystemExit(f"bench: {suite} with {build} failed:\n{done.stdout[-3000:]}")
        told = json.loads(out.read_text())
    return openenv_rows(told) if suite == "openenv" else table_rows(told)


def show(rows: dict[str, Row]) -> None:
    print(f"{'':58}{'against':>10}{'measured':>10} {'':5}{'ratio':>6}  of the rounds")
    for name, row in rows.items():
        ratios = row.rounds
        before, after = statistics.median(row.against), statistics.median(row.measured)
        middle = statistics.median(ratios)
        print(
            f"{name[:57]:58}{before:10.3f}{after:10.3f} {row.unit:5}{middle:6.2f}"
            f"  {min(ratios):.2f} .. {max(ratios):.2f}  {row.verdict}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench compare", description=__doc__)
    parser.add_argument("--against", type=Path, required=True, help="the other build's directory")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="server,display,openenv", help="suites")
    parser.add_argument("--json", type=Path, default=OUT)
    options = parser.parse_args()
    builds = {"measured": options.build.resolve(), "against": options.against.resolve()}
    for build in builds.values():
        if not (build / "bin/vitrine").exists():
            parser.error(f"{build} has no bin/vitrine")

    rows: dict[str, Row] = {}
    for round_ in range(options.rounds):
        order = list(builds.items())[:: 1 if round_ % 2 == 0 else -1]
        for suite in options.only.split(","):
            found = {}
            for which, build in order:
                print(f"bench: round {round_ + 1}, {suite}, {build}", file=sys.stderr, flush=True)
                found[which] = measure(suite, build)
            for name in found["measured"].keys() & found["against"].keys():
                unit, ours = found["measured"][name]
                row = rows.setdefault(name, Row(unit))
                row.measured.append(ours)
                row.against.append(found["against"][name][1])
            rows = {name: rows[name] for name in sorted(rows)}
    show(rows)
    told = {
        name: {"unit": row.unit, "measured": row.measured, "against": row.against}
        | {"ratios": row.rounds, "verdict": row.verdict}
        for name, row in rows.items()
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"rounds": options.rounds, "rows": told}, indent=1) + "\n")
    return 1 if any(row.verdict == "worse" for row in rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
