# SPDX-License-Identifier: Apache-2.0
"""What a client learns of one execution, and what it means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import wire

KEPT = 4 << 20  # bytes of a stream that an Execution keeps; the rest is counted


@dataclass
class Execution:
    """What an execution came to. `death` is the keeper's word, everything else the worker's."""

    id: int
    stdout: bytes = b""
    stderr: bytes = b""
    sizes: dict[str, int] = field(default_factory=lambda: {"stdout": 0, "stderr": 0})
    messages: list[wire.Message] = field(default_factory=list)
    claim: str | None = None
    exit_code: int | None = None
    timed_out: bool = False
    death: tuple[str, int] | None = None
    lie: wire.ProtocolError | None = None  # what the worker sent that it should not

    def take(self, stream: str, data: bytes) -> None:
        self.sizes[stream] += len(data)
        kept: bytes = getattr(self, stream)
        if len(kept) < KEPT:
            setattr(self, stream, kept + data[: KEPT - len(kept)])

    def end_with(self, message: wire.Message) -> None:
        if message.kind == wire.FINISHED and message.execution == self.id:
            self.claim, self.exit_code = message.body["claim"], message.body["exit_code"]

    def bodies(self, kind: int) -> list[dict[str, Any]]:
        return [m.body for m in self.messages if m.kind == kind]

    @property
    def results(self) -> list[dict[str, bytes]]:
        return [b["data"] for b in self.bodies(wire.RESULT)]

    @property
    def texts(self) -> list[str]:
        return [r.get("text/plain", b"").decode() for r in self.results]

    @property
    def error(self) -> dict[str, str] | None:
        errors = self.bodies(wire.ERROR)
        return errors[0] if errors else None

    @property
    def notes(self) -> list[str]:
        return [b["text"] for b in self.bodies(wire.NOTE)]

    @property
    def stacks(self) -> list[str]:
        return [b["text"] for b in self.bodies(wire.STACK)]

    @property
    def outcome(self) -> str:
        """The table of DESIGN section 3, as the front will apply it."""
        if self.death is not None:
            cause = self.death[0]
            return {"oom": "oom", "timeout": "timeout", "killed": "killed"}.get(cause, "crashed")
        if self.claim == "interrupted" and self.timed_out:
            return "timeout"
        return str(self.claim)

    @property
    def state_kept(self) -> bool:
        return self.death is None
