# SPDX-License-Identifier: Apache-2.0
"""One function for each promise: makes the fault, measures what came of it."""

from __future__ import annotations

import http.client
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import census
from figures import Figure, percentile
from served import Session, within
from watched import crashes, left_after, server, settled

GRACE = 1.0  # between the limit and the end by force
FAILURES = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Size:
    cycles: int
    timeouts: int  # of each kind
    neighbours: int
    victims: int  # of them, one after the other
    restarts: int
    seconds: float

    @staticmethod
    def small() -> Size:
        return Size(cycles=300, timeouts=3, neighbours=12, victims=2, restarts=12, seconds=4)

    @staticmethod
    def large() -> Size:
        return Size(cycles=10_000, timeouts=20, neighbours=50, victims=5, restarts=200, seconds=15)


def no_leaks(size: Size) -> list[Figure]:
    with server() as one:
        before = settled(one)
        outcomes: Counter[str] = Counter()
        lock = threading.Lock()

        def client(count: int) -> None:
            connection = one.connection()
            for number in range(count):
                if number % 2:
                    answer = one.post("/v1/run", {"code": "1 + 1"}, over=connection)
                    outcome = str(answer.json.get("outcome", answer.status))
                else:
                    made = one.post("/v1/sessions", {}, over=connection)
                    path = f"/v1/sessions/{made.json['id']}"
                    ran = one.post(f"{path}/exec", {"code": "x = 1"}, over=connection)
                    outcome = str(ran.json.get("outcome", ran.status))
                    one.call("DELETE", path, over=connection)
                with lock:
                    outcomes[outcome] += 1

        def load(count: int) -> None:
            with ThreadPoolExecutor(8) as clients:
                list(clients.map(client, [count // 8] * 8))

        load(size.cycles // 5)  # what is kept for reuse is there then
        warm = one.resident_kb()
        load(size.cycles - size.cycles // 5)
        left = left_after(one, before)
        done = sum(outcomes.values())
        growth = (one.resident_kb() - warm) / (done - size.cycles // 5)
        return [
            Figure(
                f"left after {done} create/run/destroy, 8 clients",
                str(len(left)),
                "0",
                not left,
                "; ".join(left),
            ),
            Figure(
                "the front's memory grew, for each of the last four fifths",
                f"{growth:.2f} KiB",
                "at most 1 KiB",
                growth <= 1 or done < 1000,
            ),
            Figure(
                "of them answered ok", f"{outcomes['ok']} of {done}", "all", outcomes["ok"] == done
            ),
        ]


# Each keeps on, in its own way, when it is asked to stop.
DEAF = {
    "a loop": "while True: pass",
    "a sleep": "import time; time.sleep(60)",
    "C code that holds the lock": "sum(range(10**12))",
    "a loop that catches everything": "while True:\n    try:\n        while True: pass\n"
    "    except BaseException: pass",
    "a stopped process": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "forty children that hear nothing": "import os, signal, time\n"
    "for n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except OSError: pass\n"
    "for n in range(40):\n    if os.fork() == 0: break\n"
    "while True: time.sleep(1)",
}


def timeouts(size: Size) -> list[Figure]:
    limit = 0.3
    late: list[float] = []
    gone: list[float] = []
    outcomes: Counter[str] = Counter()
    with server() as one:
        for _ in range(size.timeouts):
            for code in DEAF.values():
                session = one.create()
                room = os.readlink(f"/proc/{session.worker()}/ns/pid")
                began = time.monotonic()
                ran = session.run(code, timeout_s=limit)
                late.append(time.monotonic() - began - limit)
                outcomes[ran["outcome"]] += 1
                if not ran["state_kept"]:
                    ended = time.monotonic()
                    within(lambda room=room: not inhabitants(room), 5)
                    gone.append(time.monotonic() - ended)
                session.call("DELETE")
    worst = percentile(late, 0.99)
    wrong = sum(outcomes.values()) - outcomes["timeout"]
    return [
        Figure("executions that outlived their limit", str(wrong), "0", wrong == 0),
        Figure(
            f"answered after the limit, p99 of {len(late)}",
            f"{worst * 1000:.0f} ms",
            f"within {(GRACE + 0.2) * 1000:.0f} ms (grace {GRACE:g} s)",
            worst <= GRACE + 0.2,
            is_time=True,
        ),
        Figure(
            f"all processes gone after that, p99 of {len(gone)}",
            f"{percentile(gone, 0.99) * 1000:.0f} ms",
            "within 100 ms",
            percentile(gone, 0.99) <= 0.1,
            is_time=True,
        ),
    ]


def inhabitants(room: str) -> list[int]:
    """The processes of a session, by its pid namespace; its init stays until it is deleted."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if os.readlink(f"/proc/{entry}/ns/pid") == room and census.inner_pid(int(entry)) > 1:
                found.append(int(entry))
        except (OSError, ValueError):
            continue
    return [pid for pid in found if census.alive(pid)]


def memory(size: Size) -> list[Figure]:
    outcomes: Counter[str] = Counter()
    disturbed = 0
    with server() as one:
        sessions = [one.create(limits={"memory_mb": 128}) for _ in range(size.neighbours)]
        for number, session in enumerate(sessions):
            session.run(f"x = {number}")
        left = dict(enumerate(sessions))
        for _ in range(size.victims):
            _, victim = left.popitem()
            ran = victim.run("data = []\nwhile True: data.append(bytearray(1 << 20))")
            outcomes[ran["outcome"]] += 1
            for number, session in left.items():
                answer = session.exec("x")
                fine = answer.status == 200 and answer.json["results"] == [
                    {"text/plain": str(number)}
                ]
                disturbed += not fine
        return [
            Figure(
                f"one of {size.neighbours} takes all its memory, {size.victims} times",
                f"{outcomes['oom']} oom, {size.victims - outcomes['oom']} otherwise; "
                f"others disturbed: {disturbed}",
                "it alone, as oom",
                outcomes["oom"] == size.victims and not disturbed,
            )
        ]


ATTACKS = (
    "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "while True: print('x' * 1000)",
    "while True: pass",
    "import threading\n"
    "def burn():\n    while True: pass\n"
    "for _ in range(20): threading.Thread(target=burn).start()",
)


def neighbour(size: Size) -> list[Figure]:
    with server() as one:
        quiet = one.create()
        connection = one.connection()

        def measure() -> list[float]:
            times = []
            end = time.monotonic() + size.seconds
            while time.monotonic() < end:
                began = time.monotonic()
                answer = one.post(
                    f"{quiet.path}/exec", {"code": "sum(range(1000))"}, over=connection
                )
                times.append(time.monotonic() - began)
                assert answer.json["outcome"] == "ok", answer
                time.sleep(0.01)
            return times

        alone = measure()
        attackers = [one.create(limits={"cpus": 0.5, "processes": 32}) for _ in ATTACKS]
        threads = [
            threading.Thread(
                target=session.exec, args=(code,), kwargs={"timeout_s": size.seconds + 3}
            )
            for session, code in zip(attackers, ATTACKS, strict=True)
        ]
        for thread in threads:
            thread.start()
        time.sleep(1)
        attacked = measure()
        for session in attackers:
            session.call("DELETE")
        for thread in threads:
            thread.join()
        before, after = percentile(alone, 0.95), percentile(attacked, 0.95)
        return [
            Figure("a quiet neighbour's p95, alone", f"{before * 1000:.2f} ms, n = {len(alone)}"),
            Figure(
                "the same beside a fork bomb, an output flood and two that burn the processor",
                f"{after * 1000:.2f} ms = {after / before:.2f}x, n = {len(attacked)}",
                "below 2x",
                after < 2 * before,
                is_time=True,
            ),
        ]


def front_killed(size: Size) -> list[Figure]:
    """Executions go on while the front is killed at random moments."""
    chance = random.Random(7)
    lost_sessions = lost_results = lost_runs = wrong = 0
    gaps: list[float] = []
    with server(front=("--history", "1000000")) as one:
        sessions = [one.create() for _ in range(8)]
        for number, session in enumerate(sessions):
            session.run(f"mine = {number}\ncount = 0")
        acknowledged: dict[str, list[str]] = {session.id: [] for session in sessions}
        counts = dict.fromkeys(acknowledged, 0)
        stop = threading.Event()

        def client(session: Session) -> None:
            while not stop.is_set():
                try:
                    answer = session.exec("import time; time.sleep(0.002); count += 1; count")
                    if answer.status == 200 and answer.json["outcome"] == "ok":
                        acknowledged[session.id].append(answer.json["id"])
                        counts[session.id] = int(answer.json["results"][0]["text/plain"])
                except FAILURES:
                    time.sleep(0.01)

        threads = [threading.Thread(target=client, args=(session,)) for session in sessions]
        for thread in threads:
            thread.start()
        while len(gaps) < size.restarts:
            time.sleep(chance.uniform(0, 0.15))
            try:
                pid = one.front()
            except FAILURES:
                continue
            began = time.monotonic()
            one.killed += 1
            os.kill(pid, signal.SIGKILL)
            one.wait_for_front(pid)
            gaps.append(time.monotonic() - began)
        time.sleep(0.5)
        stop.set()
        for thread in threads:
            thread.join()
        listed = set(one.listed())
        for number, session in enumerate(sessions):
            lost_sessions += session.id not in listed
            within(lambda s=session: s.show()["state"] == "ready", 10)
            wrong += session.value("mine") != str(number)
            begun = int(session.value("count"))
            wrong += begun < counts[session.id]
            # What ran, also while there was no front, is in the history as having ended well.
            rows = [row for row in session.history() if row.get("outcome") == "ok"]
            lost_runs += max(0, begun - (len(rows) - 3))  # the first, and the two above
            for execution in acknowledged[session.id][-500:]:
                answer = session.call("GET", f"/executions/{execution}")
                lost_results += answer.status != 200 or answer.json["outcome"] != "ok"
    acks = sum(map(len, acknowledged.values()))
    return [
        Figure(
            f"front killed {len(gaps)} times: sessions lost",
            str(lost_sessions),
            "0",
            not lost_sessions,
        ),
        Figure("executions that ran and are in no history", str(lost_runs), "0", not lost_runs),
        Figure("variables lost or wrong", str(wrong), "0", not wrong),
        Figure(f"results lost, of {acks} acknowledged", str(lost_results), "0", not lost_results),
        Figure(
            "until the next front answers, p50 and slowest",
            f"{percentile(gaps, 0.5) * 1000:.0f} ms, {max(gaps) * 1000:.0f} ms",
            "below 1 s",
            max(gaps) < 1,
            is_time=True,
        ),
    ]


def zygote_killed(size: Size) -> list[Figure]:
    """Creations while the warm interpreter is killed again and again."""
    statuses: Counter[str] = Counter()
    times: list[float] = []
    with server("--pool", "0") as one:
        one.create().call("DELETE")  # the first one waits until it is warm
        stop = threading.Event()

        def client() -> None:
            while not stop.is_set():
                began = time.monotonic()
                made = one.post("/v1/sessions", {})
                times.append(time.monotonic() - began)
                statuses[str(made.status)] += 1
                if made.status == 201:
                    one.call("DELETE", f"/v1/sessions/{made.json['id']}")

        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        killed = 0
        for _ in range(max(3, size.restarts // 4)):
            time.sleep(0.4)
            for zygote in one.info()["zygotes"]:
                if zygote["variant"] == "loaded" and zygote["pid"] > 0:
                    os.kill(zygote["pid"], signal.SIGKILL)
                    killed += 1
        time.sleep(1)
        stop.set()
        for thread in threads:
            thread.join()
        other = sum(statuses.values()) - statuses["201"] - statuses["503"]
        return [
            Figure(
                f"zygote killed {killed} times during {sum(statuses.values())} creations",
                f"{statuses['201']} made, {statuses['503']} refused, {other} otherwise",
                "made or 503",
                other == 0 and statuses["201"] > 0,
            ),
            Figure(
                "the slowest of them",
                f"{max(times):.2f} s",
                "below 2 s",
                max(times) < 2,
                is_time=True,
            ),
        ]


def escapes(size: Size) -> list[Figure]:
    """The whole corpus of tests/escape, as root and as an ordinary user."""
    if size == Size.small():
        return []  # ./dev test has them as a stage of its own
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
             f"--junitxml={report}", str(Path(__file__).resolve().parents[1] / "escape")],
            capture_output=True, text=True,
        )  # fmt: skip
        suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None, done.stdout[-2000:]
    ran = int(suite.attrib["tests"]) - int(suite.attrib["skipped"])
    failed = [
        f"{case.attrib['name']}"
        for case in suite.iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    ]
    return [
        Figure(
            f"attacks of tests/escape that did not fail as they must, of {ran}",
            str(len(failed)),
            "0",
            not failed and done.returncode == 0,
            "; ".join(failed[:20]),
        )
    ]


def no_crashes(size: Size) -> list[Figure]:
    """Of the servers of all the others: it comes last."""
    del size
    return [
        Figure(
            "ends of a keeper or a front that nobody asked for",
            str(len(crashes)),
            "0",
            not crashes,
            "; ".join(crashes),
        )
    ]


PROMISES: dict[str, Callable[[Size], list[Figure]]] = {
    "leaks": no_leaks,
    "timeouts": timeouts,
    "memory": memory,
    "neighbour": neighbour,
    "front killed": front_killed,
    "zygote killed": zygote_killed,
    "escapes": escapes,
}
