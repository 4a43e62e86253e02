# SPDX-License-Identifier: Apache-2.0
"""Candidate solutions, as a model might write them, against tests: each in a session of its own.

A candidate that hangs, crashes or exhausts its memory does not affect the others.
"""

from __future__ import annotations

import asyncio
import dataclasses

import vitrine

CANDIDATES = {
    "right": "def fib(n, a=0, b=1):\n    return a if n == 0 else fib(n - 1, b, a + b)",
    "off by one": "def fib(n):\n    return 1 if n < 2 else fib(n - 1) + fib(n - 2)",
    "does not end": "def fib(n):\n    while True: pass",
    "eats memory": "def fib(n):\n    return len(bytearray(1 << 30))",
    "crashes": "def fib(n):\n    import os; os._exit(3)",
    "syntax error": "def fib(n) return n",
}
TESTS = "assert [fib(n) for n in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]"


@dataclasses.dataclass(frozen=True)
class Verdict:
    name: str
    outcome: str
    why: str


async def judge(name: str, code: str, room: asyncio.Semaphore) -> Verdict:
    async with room:
        result = await vitrine.AsyncSandbox.run(
            f"{code}\n{TESTS}", timeout=2, limits={"memory_mb": 128}
        )
    return Verdict(name, result.outcome, result.error.name if result.error else "")


async def evaluate(candidates: dict[str, str], at_once: int = 8) -> list[Verdict]:
    room = asyncio.Semaphore(at_once)
    return await asyncio.gather(*(judge(name, code, room) for name, code in candidates.items()))


def main() -> None:
    with vitrine.local():
        verdicts = asyncio.run(evaluate(CANDIDATES))
    for verdict in verdicts:
        print(f"{verdict.name:13} {verdict.outcome:10} {verdict.why}")
    assert [one.name for one in verdicts if one.outcome == "ok"] == ["right"]


if __name__ == "__main__":
    main()
