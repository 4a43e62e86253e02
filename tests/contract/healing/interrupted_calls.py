# SPDX-License-Identifier: Apache-2.0
"""Executions whose client is cut off when the server's front is killed."""

from __future__ import annotations

import contextlib
import http.client

from served import Answer, Background, Session, until

WAIT_FOR_GO = """import os, time
print('begun', flush=True)
while not os.path.exists('go'): time.sleep(0.01)
print('over')
y = 'done'
y"""


def cut_off(task: Background) -> Answer | None:
    """What a client got whose server was killed: an answer, or a broken connection."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        return task.result()  # type: ignore[no-any-return]
    return None


def finished(session: Session, execution: str) -> dict[str, object]:
    def over() -> dict[str, object] | None:
        row = session.call("GET", f"/executions/{execution}").json
        return row if row["state"] != "running" else None

    row = until(over)
    assert row, "it never ends"
    return dict(row)
