# SPDX-License-Identifier: Apache-2.0
"""Everything at once, for a while: good code, bad code, files, restarts."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections import Counter

from figures import Figure, percentile
from served import Session
from watched import left_after, server, settled

CODES = (
    "x = 1",
    "import numpy as np; np.arange(1000).sum()",
    "print('y' * 5000)",
    "1 / 0",
    "import pandas as pd; pd.DataFrame({'a': [1, 2]}).describe()",
    "open('f', 'w').write('z' * 10_000)",
    "import subprocess; subprocess.run(['true'])",
    "import os; os._exit(3)",
    "bytearray(10**9)",
    "import tkinter; r = tkinter.Tk(); r.update()",
)


def mixed_load(seconds: float) -> list[Figure]:
    with server() as one:
        before = settled(one)
        times: list[tuple[float, float]] = []
        outcomes: Counter[str] = Counter()
        end = time.monotonic() + seconds

        def client(seed: int) -> None:
            chance = random.Random(seed)
            connection = one.connection()
            while time.monotonic() < end:
                try:
                    made = one.post("/v1/sessions", {}, over=connection)
                    if made.status != 201:
                        outcomes[f"create {made.status}"] += 1
                        time.sleep(0.05)
                        continue
                    session = Session(one, made.json)
                    for _ in range(chance.randint(1, 10)):
                        answer = session.call(
                            "POST",
                            "/exec",
                            {"code": chance.choice(CODES), "timeout_s": 5},
                            over=connection,
                        )
                        outcomes[str(answer.json.get("outcome", answer.status))] += 1
                        if answer.status != 200:
                            break
                        if chance.random() < 0.1:
                            put = session.call(
                                "PUT", "/files/up/load", b"u" * 5000, over=connection
                            )
                            seen = session.call("GET", "/screenshot", over=connection)
                            bad = [one.status for one in (put, seen) if one.status >= 500]
                            outcomes["500"] += len(bad)
                    session.call("DELETE", over=connection)
                except (OSError, http.client.HTTPException) as error:
                    outcomes[type(error).__name__] += 1
                    connection = one.connection()

        probe = one.create()

        def watch() -> None:
            connection = one.connection()
            while time.monotonic() < end:
                began = time.monotonic()
                probe.call("POST", "/exec", {"code": "1 + 1"}, over=connection)
                times.append((began, time.monotonic() - began))
                time.sleep(0.02)

        threads = [threading.Thread(target=client, args=(seed,)) for seed in range(6)]
        threads.append(threading.Thread(target=watch))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        probe.call("DELETE")
        left = left_after(one, before)
        quarter = max(1, len(times) // 4)
        first = [took for _, took in times[:quarter]]
        last = [took for _, took in times[-quarter:]]
        drift = percentile(last, 0.5) / percentile(first, 0.5)
        broken = sum(
            count for name, count in outcomes.items() if name[:1].isupper() or name == "500"
        )
        ran = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
        return [
            Figure("mixed load: executions", ran, "no 500, no broken connection", broken == 0),
            Figure(
                "a probe's p50, last quarter against the first",
                f"{drift:.2f}x (p99 {percentile(last, 0.99) * 1000:.1f} ms, n = {len(last)})",
                "below 1.5x",
                drift < 1.5,
                is_time=True,
            ),
            Figure("left after the load", str(len(left)), "0", not left, "; ".join(left)),
        ]
