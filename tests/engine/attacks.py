# SPDX-License-Identifier: Apache-2.0
"""Runs the hostile scripts of victims/ in a session and reads their reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from client import Execution, Session

VICTIMS = Path(__file__).parent / "victims"


def attack(session: Session, name: str, **environment: str) -> Execution:
    """Runs a script of victims/ in the session."""
    probes = (VICTIMS / "probes.py").read_text()
    session.run(f"open('probes.py', 'w').write({probes!r})\nNone")
    return session.run((VICTIMS / f"{name}.py").read_text(), timeout=60, env=environment)


def told(execution: Execution) -> dict[str, Any]:
    assert execution.outcome == "ok", (execution.outcome, execution.error, execution.stderr)
    return json.loads(execution.stdout)  # type: ignore[no-any-return]
