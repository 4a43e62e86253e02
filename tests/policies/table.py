#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a server of its own for every feature under every policy, and prints the table.

`table.py --document FILE` puts it between the two marks in FILE instead. The answers are what
happened, not what was expected: tests/policies/test_features.py compares the two.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contract"))

from features import FEATURES, POLICIES, Feature, fields_of
from served import Server, Session

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
WORKS = "works"


def verdict(session: Session, feature: Feature) -> str:
    """works, refused (by the policy), or fails."""
    execution = session.run(feature.code, stdin="yes\n")
    said = execution["stdout"].rstrip().endswith("yes")
    if execution["outcome"] == "ok" and said:
        return WORKS
    return "refused" if execution["outcome"] == "policy" else "fails"


def table(server: Server) -> str:
    sessions = {policy: server.create(**fields_of(policy)) for policy in POLICIES}
    lines = ["| | " + " | ".join(f"`{policy}`" for policy in POLICIES) + " |"]
    lines.append("|---" * (len(POLICIES) + 1) + "|")
    group = ""
    for feature in FEATURES:
        if feature.group != group:
            group = feature.group
            lines.append(f"| **{group}** |" + " |" * len(POLICIES))
        answers = [verdict(sessions[policy], feature) for policy in POLICIES]
        lines.append(
            f"| {feature.name.replace('|', chr(92) + '|')} | " + " | ".join(answers) + " |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    server = Server("--pool", "2")
    try:
        text = table(server)
    finally:
        server.end()
    if sys.argv[1:2] != ["--document"]:
        print(text, end="")
        return
    document = Path(sys.argv[2])
    before, _, rest = document.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    if not rest or not after:
        sys.exit(f"{document} has no {BEGIN} and {END}")
    document.write_text(f"{before}{BEGIN}\n{text}{END}{after}")


if __name__ == "__main__":
    main()
