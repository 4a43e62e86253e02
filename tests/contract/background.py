# SPDX-License-Identifier: Apache-2.0
"""A call that goes on beside the test."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from waiting import SAFETY


class Background:
    """A call in a thread, and what became of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._value: Any = None
        self._error: BaseException | None = None

        def run() -> None:
            try:
                self._value = call()
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def result(self) -> Any:
        self._thread.join(SAFETY)
        assert self.is_over(), "no answer"
        if self._error:
            raise self._error
        return self._value

    def settle(self) -> None:
        """For calls whose connection is cut: it ends, however."""
        self._thread.join(SAFETY)
        assert self.is_over(), "no answer"
