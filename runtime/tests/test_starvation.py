# SPDX-License-Identifier: Apache-2.0
"""Time without a processor is told apart from time that code takes."""

from __future__ import annotations

import os
import sys
import time
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vitrine_runtime.starvation import Starvation


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def compare(seconds: float) -> tuple[float, float]:
    """What was told, and what is missing of a time that was spun away."""
    starved, used = Starvation(60), time.thread_time()
    began = time.monotonic()
    spin(seconds)
    told = starved.seconds()
    return told, time.monotonic() - began - (time.thread_time() - used)


def test_waiting_for_a_processor_is_told() -> None:
    """Five processes on one: each is ready all the time, and mostly waits."""
    mine = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {mine})
    try:
        others = [get_context("fork").Process(target=spin, args=(1.0,)) for _ in range(4)]
        for one in others:
            one.start()
        told, missing = compare(0.5)
        for one in others:
            one.join()
    finally:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))

    assert missing > 0 and told > missing / 2, (told, missing)


def test_sleep_is_no_waiting_and_there_is_a_most() -> None:
    began = time.monotonic()
    starved, none = Starvation(60), Starvation(0)
    time.sleep(0.2)

    assert starved.seconds() < time.monotonic() - began - 0.15
    assert none.seconds() == 0
