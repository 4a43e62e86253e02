# SPDX-License-Identifier: Apache-2.0
"""Reads src/jail/seccomp.policy: which rule each system call has, and under which heading."""

from __future__ import annotations

import re
from pathlib import Path

POLICY = Path(__file__).resolve().parents[2] / "src" / "jail" / "seccomp.policy"


def read_policy() -> dict[str, tuple[str, str]]:
    """Name -> (heading, rule): allow, deny ERRNO, answer 0, or `partly` where arguments decide.

    The zygote's own rules are left out: a session's filter takes them back.
    """
    found: dict[str, tuple[str, str]] = {}
    heading = ""
    for line in POLICY.read_text().splitlines():
        if title := re.match(r"# --- (.*?) -+$", line):
            heading = title[1].partition(":")[0].partition(",")[0]
        words = line.partition(" when ")[0].split()
        if not words or words[0] not in ("allow", "deny", "answer"):
            continue
        taken = 1 if words[0] == "allow" else 2
        rule = "partly" if " when " in line else " ".join(words[:taken])
        for name in words[taken:]:
            found[name.lstrip("?")] = (heading, rule)
    return found
