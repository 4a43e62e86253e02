# SPDX-License-Identifier: Apache-2.0
"""What others wait for while files are worked on: `./dev bench files`.

One client lists, writes and removes files of its session; another creates sessions, or executes in
one, in a loop. Decision 35 moved file verbs off the keeper's thread because of this table.
`--against DIR` measures the programs of another build in turn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scale"))

from server import Server
from session_files import Client, SessionFiles

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build/bench/files.json"
# What is done meanwhile: its name, and one turn of it.
MEANWHILE: dict[str, Callable[[SessionFiles], None]] = {
    "nothing": lambda files: time.sleep(0.1),
    f"{SessionFiles.ENTRIES:,} entries are listed": SessionFiles.list_tree,
    f"{SessionFiles.MEGABYTES} MB are written": SessionFiles.write_large,
    f"{SessionFiles.ENTRIES:,} files are made and removed": SessionFiles.make_and_remove_tree,
}


class Creations:
    """Another client's sessions: how long each creation takes."""

    name = "creation"

    def __init__(self, port: int) -> None:
        self._client = Client(port)

    def sample(self) -> float:
        began = time.perf_counter()
        session = self._client.create()
        took = time.perf_counter() - began
        self._client.delete(session)
        return took


class Executions:
    """Another client's executions of `1` in one session."""

    name = "execution"

    def __init__(self, port: int) -> None:
        self._client = Client(port)
        self._session = self._client.create()

    def sample(self) -> float:
        began = time.perf_counter()
        self._client.execute(self._session, "1")
        return time.perf_counter() - began


def during(work: Callable[[], None], others: Creations | Executions, seconds: float) -> list[float]:
    """Milliseconds that each of the others' requests took while `work` was repeated."""
    samples: list[float] = []
    failed: list[BaseException] = []
    over = threading.Event()

    def measure() -> None:
        try:
            while not over.is_set():
                samples.append(others.sample() * 1000)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=measure)
    thread.start()
    try:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            work()
    finally:
        over.set()
        thread.join()
    if failed:
        raise failed[0]
    return samples


def measure(server: Server, seconds: float) -> dict[str, dict[str, list[float]]]:
    """Milliseconds, by what is done meanwhile and what the other client requests."""
    files = SessionFiles(server.port)
    found: dict[str, dict[str, list[float]]] = {}
    for name, turn in MEANWHILE.items():
        for others in (Creations(server.port), Executions(server.port)):
            samples = during(lambda turn=turn: turn(files), others, seconds)  # type: ignore[misc]
            found.setdefault(name, {})[others.name] = samples
    return found


def percentile(samples: list[float], part: float) -> float:
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * part))]


def rows(rounds: list[dict[str, dict[str, list[float]]]]) -> list[dict[str, object]]:
    """The median of the rounds' percentiles, for each line of the table."""
    table: list[dict[str, object]] = []
    for name in MEANWHILE:
        for request in ("creation", "execution"):
            each = [one[name][request] for one in rounds]
            table.append(
                {
                    "meanwhile": name,
                    "request": request,
                    "p50": statistics.median(percentile(one, 0.5) for one in each),
                    "p99": statistics.median(percentile(one, 0.99) for one in each),
                    "samples": sum(map(len, each)),
                }
            )
    return table


def show(title: str, table: list[dict[str, object]]) -> None:
    print(f"\n{title}")
    print(f"{'meanwhile':36}{'request':12}{'p50 ms':>10}{'p99 ms':>10}{'samples':>10}")
    for row in table:
        numbers = f"{row['p50']:>10.2f}{row['p99']:>10.2f}{row['samples']:>10}"
        print(f"{row['meanwhile']:36}{row['request']:12}{numbers}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench files", description=__doc__)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="programs to measure")
    parser.add_argument("--against", type=Path, help="programs of another build, in turn")
    parser.add_argument("--image", type=Path, default=ROOT / "build/image")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=OUT)
    options = parser.parse_args()

    programs = {"measured": options.bin}
    if options.against:
        programs["against"] = options.against
    found: dict[str, list[dict[str, dict[str, list[float]]]]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory(prefix="vitrine-files-") as directory:
        Path(directory).chmod(0o711)  # the front has a uid of its own
        for round_ in range(options.rounds):
            for which, binaries in programs.items():
                print(f"bench: round {round_ + 1} of {options.rounds}, {binaries}", file=sys.stderr)
                data = Path(directory) / f"{which}{round_}"
                with Server(binaries, options.image, data) as server:
                    found[which].append(measure(server, options.seconds))
    tables = {which: rows(rounds) for which, rounds in found.items()}
    for which, table in tables.items():
        show(str(programs[which]), table)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    told = {"rounds": options.rounds, "rows": tables["measured"], "against": tables.get("against")}
    options.json.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
