# SPDX-License-Identifier: Apache-2.0
"""Servers that are watched: what there is of one before and after a load, and ends that nobody
asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import census
from served import Server, family, within

# Ends of keepers and fronts that nobody asked for, of all servers here.
crashes: list[str] = []


class Watched(Server):
    killed = 0  # fronts, by us


@contextmanager
def server(*options: str, front: tuple[str, ...] = ()) -> Iterator[Watched]:
    one = Watched(*options, front=front)
    try:
        yield one
        if not one.alive():
            crashes.append(f"a keeper ended with {one.process.returncode}")
        elif ended := int(one.metrics()["vitrine_front_restarts_total"]) - one.killed:
            crashes.append(f"a front ended {ended} times")
    finally:
        one.end()


def counted(one: Server) -> dict[str, int]:
    """What there is of a server when nothing runs in it."""
    keeper = one.process.pid
    front = one.front()
    return {
        "processes": len(family(keeper)),
        "cgroups": len(census.cgroup_directories(one.name)),
        "mounts": sum(census.mounts("self").values()),
        "descriptors of the keeper": sum(census.descriptors(keeper).values()),
        "descriptors of the front": sum(census.descriptors(front).values()),
        "files": sum(len(names) for _, _, names in os.walk(one.directory)),
        "namespaces": len(namespaces(keeper)),
    }


def namespaces(keeper: int) -> set[str]:
    found = set()
    for pid, _ in family(keeper):
        for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
            except OSError:
                continue
    return found


@dataclass
class Baseline:
    counts: dict[str, int]
    recycled: int


def settled(one: Server) -> Baseline:
    """Counted when the pools are full and nothing changes any more."""
    one.post("/v1/run", {"code": "1"})
    last: dict[str, int] = {}

    def is_still() -> bool:
        nonlocal last
        time.sleep(0.3)
        now = counted(one)
        same, last = now == last, now
        return same

    within(is_still, 20)
    return Baseline(last, one.info()["pools"]["recycled"])


def left_after(one: Server, before: Baseline) -> list[str]:
    """What grew and stays so. Shells that wait for the next one-shot are no leak."""

    def rest() -> list[str]:
        now = counted(one)
        kept = one.info()["pools"]["recycled"] - before.recycled
        allowed = {
            "processes": kept,
            "cgroups": 8 * kept,
            # Its own six, five files of its network namespace, ten of its cgroups.
            "descriptors of the keeper": 21 * kept,
            "namespaces": 7 * kept,
        }
        return [
            f"{what}: {count} -> {now[what]}"
            for what, count in before.counts.items()
            if now[what] > count + allowed.get(what, 0)
        ]

    within(lambda: not rest(), 15)
    return rest()
