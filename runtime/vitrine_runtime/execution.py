# SPDX-License-Identifier: Apache-2.0
"""One execution: what was asked, how far it got, what is still to be said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import Error
from .sealed import __builtins__  # noqa: F401

if TYPE_CHECKING:
    from .lines import Lines
    from .shows import Show

MAX_NOTES = 32
OK, EXCEPTION, POLICY, INTERRUPTED = "ok", "exception", "policy", "interrupted"


class Execution:
    """Made when the request arrives, dropped once its `finished` was sent."""

    __slots__ = (
        "id",
        "code",
        "request",
        "room",
        "show",
        "lines",
        "begun",
        "outcome",
        "exit_code",
        "error",
        "notes",
        "environment",
        "notes_sent",
        "error_sent",
        "finished_sent",
    )

    def __init__(self, id: int, request: dict[str, Any]) -> None:
        self.id = id
        self.code: str = request["code"]
        self.request = request
        self.room: int = request["result_limit"]  # bytes of results still allowed
        self.show: Show | None = None  # when its screen is wanted
        self.lines: Lines | None = None  # when pictures are taken on the way
        self.begun = False
        self.outcome = ""
        self.exit_code = 0
        self.error: Error | None = None
        self.notes: list[str] | None = None  # made when the first one comes
        self.environment: dict[str, str | None] | None = None  # values to put back
        self.notes_sent: list[object] = []
        self.error_sent: list[object] = []
        self.finished_sent: list[object] = []

    def refused(self, error: Error) -> None:
        """The language policy said no."""
        self.error = error
        self.outcome, self.exit_code = POLICY, 1

    def note(self, text: str) -> None:
        """A note, sent with the end of the execution."""
        if self.notes is None:
            self.notes = []
        if len(self.notes) < MAX_NOTES and text not in self.notes:
            self.notes.append(text)
