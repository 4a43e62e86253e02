# SPDX-License-Identifier: Apache-2.0
"""Where the ceiling is: `./dev bench scale`.

Drives a server of its own as fast as it answers, and asks the kernel how much processor time each
stage with one thread (front, keeper, zygote) took for a request: on a machine with cores to spare,
a stage is full at the inverse. `--against DIR` measures the programs of another build in turn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from load import Load
from server import Server

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build/bench/scale.json"
STAGES = ("front", "keeper", "zygote")
NUMPY = "import numpy as np\nint(np.arange(10).sum())"
# What is measured: its name, the zygote its workers come from, the code, and whether each request
# is a session of its own.
WORK = {
    "an execution": ("loaded", "1+1", False),
    "a bare one-shot": ("bare", "1+1", True),
    "a loaded one-shot": ("loaded", NUMPY, True),
}
CLIENTS = 8


def measure(server: Server, name: str, seconds: float) -> dict[str, float]:
    """Milliseconds of each stage for a request, and requests per second."""
    variant, code, one_shot = WORK[name]
    with Load(server.port, CLIENTS, code, one_shot) as load:
        load.run(seconds / 4)  # the pools are as they are under load
        before, began = server.used(variant), time.perf_counter()
        done = load.run(seconds)
        after, took = server.used(variant), time.perf_counter() - began
    found = {stage: (after[stage] - before[stage]) / done / 1e6 for stage in STAGES}
    return found | {"rate": done / took}


def medians(samples: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(one[key] for one in samples) for key in samples[0]}


def rows(found: dict[str, list[dict[str, float]]]) -> list[dict[str, object]]:
    table = []
    for name, samples in found.items():
        middle = medians(samples)
        slowest = max(STAGES, key=lambda stage: middle[stage])
        table.append(
            {
                "work": name,
                "ms": {stage: middle[stage] for stage in STAGES},
                "full_at": {stage: 1000 / max(middle[stage], 1e-6) for stage in STAGES},
                "full_first": slowest,
                "rate_here": middle["rate"],
            }
        )
    return table


def show(title: str, table: list[dict[str, object]]) -> None:
    print(f"\n{title}")
    head = ["", *(f"{stage} ms" for stage in STAGES), "full at /s", "by", "here /s"]
    print(f"{head[0]:22}" + "".join(f"{word:>12}" for word in head[1:]))
    for row in table:
        first = str(row["full_first"])
        numbers = [f"{row['ms'][stage]:.3f}" for stage in STAGES]  # type: ignore[index]
        numbers += [f"{row['full_at'][first]:,.0f}", first, f"{row['rate_here']:,.0f}"]  # type: ignore[index]
        print(f"{row['work']:22}" + "".join(f"{word:>12}" for word in numbers))


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench scale", description=__doc__)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="programs to measure")
    parser.add_argument("--against", type=Path, help="programs of another build, in turn")
    parser.add_argument("--image", type=Path, default=ROOT / "build/image")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, default=OUT)
    options = parser.parse_args()

    programs = {"measured": options.bin}
    if options.against:
        programs["against"] = options.against
    found: dict[str, dict[str, list[dict[str, float]]]] = {name: {} for name in programs}
    with tempfile.TemporaryDirectory(prefix="vitrine-scale-") as directory:
        Path(directory).chmod(0o711)  # the front has a uid of its own
        for round_ in range(options.rounds):
            for which, binaries in programs.items():
                print(f"bench: round {round_ + 1} of {options.rounds}, {binaries}", file=sys.stderr)
                with Server(
                    binaries, options.image, Path(directory) / f"{which}{round_}"
                ) as server:
                    for name in WORK:
                        sample = measure(server, name, options.seconds)
                        found[which].setdefault(name, []).append(sample)
    tables = {which: rows(samples) for which, samples in found.items()}
    for which, table in tables.items():
        show(str(programs[which]), table)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    told = {"clients": CLIENTS, "rounds": options.rounds, "rows": tables["measured"]}
    options.json.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
