# SPDX-License-Identifier: Apache-2.0
"""What a language policy costs: executions over HTTP, keep-alive, interleaved with the peers alone.

`./dev bench policies [--rounds N] [--repeat N] [--json FILE]`. Ratios decide: `restricted` may take
at most twice what `native` takes for a trivial execution.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("VITRINE_BUILD", str(ROOT / "build" / "release"))
sys.path.insert(0, str(ROOT / "tests" / "contract"))

from served import IMAGE, Server, Session  # noqa: E402

POLICIES = ("native", "restricted", "smolagents")
PEERS = ("plain", "restrictedpython", "smolagents")
TRIVIAL = "x = 1 + 1"
PROGRAMS = {
    "trivial": TRIVIAL,
    "loop of 2,000": "total = 0\nfor i in range(2000):\n    total = total + i",
    "2,000 calls of a method": (
        "class Counter:\n    def add(self, n):\n        return n + 1\n"
        "c = Counter()\nx = 0\nfor i in range(2000):\n    x = c.add(x)"
    ),
}


class Peers:
    """One process with the image's own Python and packages."""

    def __init__(self) -> None:
        packages = next(IMAGE.glob("root/usr/local/lib/python3*/dist-packages"))
        self.process = subprocess.Popen(
            ["/usr/bin/python3", str(Path(__file__).parent / "in_process.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # The image stays as it was built: nothing is written into it.
            env={**os.environ, "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"},
            text=True,
        )

    def run(self, peer: str, repeat: int, code: str) -> list[float]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([peer, repeat, code]) + "\n")
        self.process.stdin.flush()
        return list(json.loads(self.process.stdout.readline()))

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(20)


def executions(session: Session, connection: Any, repeat: int, code: str) -> list[float]:
    taken = []
    for _ in range(repeat):
        began = time.perf_counter()
        answer = session.call("POST", "/exec", {"code": code}, over=connection)
        taken.append(1000 * (time.perf_counter() - began))
        assert answer.json["outcome"] == "ok", answer
    return taken


def first_result(server: Server, policy: str) -> float:
    """Creation and first result together."""
    began = time.perf_counter()
    session = server.create(policy=policy)
    session.run(TRIVIAL)
    taken = 1000 * (time.perf_counter() - began)
    session.delete()
    return taken


def measure(rounds: int, repeat: int) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = {}
    server, peers = Server("--pool", "4"), Peers()
    connection = server.connection()
    try:
        sessions = {policy: server.create(policy=policy) for policy in POLICIES}
        for session in sessions.values():
            executions(session, connection, 20, TRIVIAL)
        for _ in range(rounds):
            for name, code in PROGRAMS.items():
                rows = found.setdefault(name, {})
                times = repeat if name == "trivial" else max(3, repeat // 20)
                for policy in POLICIES:
                    rows.setdefault(policy, []).extend(
                        executions(sessions[policy], connection, times, code)
                    )
                for peer in PEERS:
                    rows.setdefault(f"in process: {peer}", []).extend(peers.run(peer, times, code))
            rows = found.setdefault("create and first result", {})
            for policy in POLICIES:
                rows.setdefault(policy, []).append(first_result(server, policy))
    finally:
        connection.close()
        peers.end()
        server.end()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=100, help="trivial executions per round")
    parser.add_argument("--json", type=Path, help="also write all medians there")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rounds, repeat = (3, 40) if options.quick else (options.rounds, options.repeat)
    found = measure(rounds, repeat)
    medians = {
        name: {row: statistics.median(taken) for row, taken in rows.items()}
        for name, rows in found.items()
    }
    for name, rows in medians.items():
        print(f"\n{name}")
        for row, median in rows.items():
            print(f"  {row:32} {median:9.3f} ms   {median / rows['native']:7.2f} x native")
    if options.json:
        options.json.write_text(json.dumps(medians, indent=2) + "\n")
    ratio = medians["trivial"]["restricted"] / medians["trivial"]["native"]
    print(f"\ntrivial execution, restricted / native: {ratio:.2f} (promised: at most 2)")
    return 0 if ratio <= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
