#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ctest, and says what came of it: `./dev test` calls this after the build.

  test.py                  everything        test.py quick        what takes less than a minute
  test.py unit engine      these stages      test.py Assembler    tests with this in their name

The table has a line for each stage; the last line is `N passed, N failed, N skipped`, counted in
tests, not in stages. Fails if a test failed or did not run, if a stage ran none, or if nothing ran.
A run of everything repeats up to three failed tests of pytest, alone on the machine: those that
pass then are listed as unstable and counted as passed (docs/decisions/0043).
A signal ends all stages, and gives them the time to end what they started.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "log"
RESULT = LOGS / "ctest.xml"
FAILED = LOGS / "failed"  # a file for each stage: see tests/failed_tests.py
MOST_UNSTABLE = 3
STAGES = (
    "lint layers unit sanitizers sanitizers-front fuzz tsan runtime image engine server asan-server"
    " escape policies openenv display client serial soak"
).split()
LONG = ("tsan",)  # only with --long, or by its name
# Not asked for a part of a test's name: it has none, or it needs a build of its own.
NAMELESS = (
    *("lint", "unit", "sanitizers", "sanitizers-front", "asan-server"),
    *("fuzz", "client", "soak", *LONG),
)
QUICK = ("lint", "layers", "unit", "runtime")


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0

    def add(self, other: Count) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.seconds += other.seconds


def inner_count(file: Path) -> Count | None:
    """What a stage of many tests wrote of them; None if it wrote nothing."""
    try:
        root = ElementTree.parse(file).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    count = Count()
    for case in root.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            count.skipped += 1
        else:
            count.passed += 1
    return count


def stage_of(name: str) -> str:
    """Unit tests are layer.Suite.Test, parts of a stage stage.part; ctest writes no labels."""
    if re.match(r"[a-z]+\.(build|begin|end)$", name):
        return "fixture"
    return "unit" if re.match(r"[a-z]+\.[A-Z]|.*_NOT_BUILT$", name) else name.partition(".")[0]


def counted(case: ElementTree.Element) -> tuple[str, Count]:
    """The stage of one of ctest's tests, and what it counts for."""
    name = case.get("name", "")
    stage = stage_of(name)
    status = case.get("status")
    skipped = case.find("skipped")
    is_skip = skipped is not None and "SKIP_" in skipped.get("message", "")
    count = inner_count(LOGS / "junit" / f"{name}.xml")
    if count is None:
        count = Count(passed=int(status == "run"), skipped=int(is_skip))
        if stage == "fixture":
            count = Count()
    if status != "run" and not is_skip and count.failed == 0:
        count.failed = 1
    count.seconds = float(case.get("time", 0))
    return stage, count


def results() -> Iterator[tuple[str, Count]]:
    if RESULT.exists():
        for case in ElementTree.parse(RESULT).getroot().iter("testcase"):
            yield counted(case)


def failed_stages() -> list[str]:
    """The names of ctest's tests that failed or did not run."""
    cases = ElementTree.parse(RESULT).getroot().iter("testcase")
    return [case.get("name", "") for case in cases if counted(case)[1].failed]


def repeatable(stages: list[str]) -> list[str]:
    """The tests to run again, if nothing else failed and they are few."""
    files = [FAILED / stage for stage in stages]
    if not files or not all(file.exists() for file in files):
        return []
    tests = [line for file in files for line in file.read_text().splitlines()]
    return tests if len(tests) <= MOST_UNSTABLE else []


def run_again() -> list[str]:
    """Repeats the tests that failed; returns them if all of them pass now."""
    stages = failed_stages()
    tests = repeatable(stages)
    if not tests:
        return []
    print("dev: these failed; they run again, alone:", *tests, sep="\n  ", file=sys.stderr)
    chosen = ["-R", f"^({'|'.join(map(re.escape, stages))})$"]
    status = run_ctest(
        chosen, {"VITRINE_SECOND_RUN": "1"}, jobs=1, result=LOGS / "ctest-second.xml"
    )
    return [] if status else tests


def report(seconds: float, unstable: list[str]) -> Count:
    total, by_stage = Count(), dict[str, Count]()
    for stage, count in results():
        by_stage.setdefault(stage, Count()).add(count)
        total.add(count)
    print(file=sys.stderr)
    for stage, one in by_stage.items():
        verdict = "FAILED" if one.failed else "ok"
        print(f"{stage:11} {verdict:6} {one.passed:5} passed {one.failed:3} failed"
              f" {one.skipped:3} skipped {one.seconds:8.1f} s", file=sys.stderr)  # fmt: skip
    if unstable:
        print(
            "UNSTABLE: failed beside others, passed alone:", *unstable, sep="\n  ", file=sys.stderr
        )
        total.failed -= len(unstable)
        total.passed += len(unstable)
    print(f"{seconds:.1f} s in all; ctest's own log is in build/dev/Testing", file=sys.stderr)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
    return total


def selection(words: list[str]) -> tuple[list[str], dict[str, str]]:
    """ctest's options, and variables for the stages."""
    stages = [word for word in words if word in STAGES]
    names = [word for word in words if word not in (*STAGES, "quick")]
    if len(names) > 1 or (names and stages):
        raise SystemExit("dev: give stages, or one part of a test's name\n  remedy: ./dev help")
    if names:
        # A unit test by its own name; of the others every stage is asked.
        python = [one for one in STAGES if one not in NAMELESS]
        chosen = ["-R", f"^({'|'.join(python)})([.][a-z]+)?$|^[a-z]+[.].*{names[0]}"]
        return [*chosen, "-E", "^(sanitizers|sanitizers-front|fuzz|tsan)[.]"], {
            "VITRINE_TEST_NAME": names[0]
        }
    if "quick" in words:
        stages += QUICK
    return (["-L", f"^({'|'.join(stages)})$"] if stages else []), {}


def run_ctest(options: list[str], variables: dict[str, str], jobs: int, result: Path) -> int:
    command = ["ctest", "--test-dir", "build/dev", "--parallel", str(jobs), "--output-on-failure"]
    command += ["--no-tests=error", "--timeout", "120", "--output-junit", str(result), *options]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=sys.stderr,
        start_new_session=True,
    )

    def stop(number: int, frame: object) -> None:
        os.killpg(process.pid, signal.SIGINT)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    status = process.wait()
    if status < 0:  # ctest does not wait for those that are ending
        wait_for_group(process.pid, 60)
        print("dev: stopped", file=sys.stderr)
        sys.exit(130)
    return status


def wait_for_group(group: int, seconds: float) -> None:
    latest = time.monotonic() + seconds
    while time.monotonic() < latest:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev test", description=__doc__)
    parser.add_argument("--long", action="store_true", help="also the tests marked long")
    parser.add_argument("words", nargs="*", metavar="quick, a stage, or part of a name")
    given = parser.parse_args()
    options, variables = selection(given.words)
    if given.long:
        variables["VITRINE_LONG"] = "1"
    elif left_out := [one for one in LONG if one not in given.words]:
        options += ["-LE", f"^({'|'.join(left_out)})$"]
    started = time.monotonic()
    RESULT.unlink(missing_ok=True)
    for old in (LOGS / "junit", FAILED):
        shutil.rmtree(old, ignore_errors=True)
    status = run_ctest(options, variables, jobs=(os.cpu_count() or 1) + 1, result=RESULT)
    unstable = run_again() if status and not given.words and RESULT.exists() else []
    total = report(time.monotonic() - started, unstable)
    if total.passed + total.skipped == 0:
        print(f"dev: no test has {' '.join(given.words)!r} in its name", file=sys.stderr)
        return 1
    return 1 if (status and not unstable) or total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
