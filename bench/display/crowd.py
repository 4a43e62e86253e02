# SPDX-License-Identifier: Apache-2.0
"""Many displays at once: what each of them keeps in memory."""

from __future__ import annotations

import os
import statistics
import time

from processes import cgroup_mib, named, pss_mib
from rows import Report, one, row
from served import Server

WINDOW = """
import tkinter as tk
root = tk.Tk()
root.geometry("400x300+100+50")
tk.Label(root, text="hello", font=(None, 30)).pack()
root.update()
"""


def displays(server: Server, report: Report, count: int) -> None:
    sessions = [server.create() for _ in range(count)]
    plain = _charged([session.worker() for session in sessions[:5]])
    began = time.perf_counter()
    for session in sessions:
        assert session.run(WINDOW)["outcome"] == "ok"
    each = 1000 * (time.perf_counter() - began) / count
    servers, helpers = named(server, "Xvfb"), named(server, "vitrine-screen")
    assert len(servers) == count, f"{len(servers)} X servers for {count} sessions"
    report.add(one(f"{count} displays opened one by one, each", "ms", each, count))
    if os.geteuid() == 0:
        x_server = [pss_mib(pid) for pid in servers]
        helper = [pss_mib(pid) for pid in helpers]
        whole = (sum(x_server) + sum(helper)) / count
        report.add(one(f"{count} displays at once: PSS of each", "MiB", whole, count))
        report.add(row("   of it: the X server", "MiB", x_server))
        if helper:
            report.add(row("   of it: the screen's helper", "MiB", helper))
    else:
        report.note("only root reads the memory of a session's X server")
    charged = _charged(servers)
    if charged and plain:
        more = statistics.median(charged) - statistics.median(plain)
        report.add(row("   charged to a session with a window", "MiB", charged))
        report.add(one("   more than to one without", "MiB", more, count))
    for session in sessions:
        session.delete()


def _charged(pids: list[int]) -> list[float]:
    return [amount for pid in pids if (amount := cgroup_mib(pid)) is not None]
