# SPDX-License-Identifier: Apache-2.0
"""Interpreter state that a cell may leave behind and that would hit the runtime itself."""

from __future__ import annotations

import builtins
from _signal import SIG_IGN, SIGINT, getsignal, signal, valid_signals

from .sealed import __builtins__ as _sealed

__builtins__ = _sealed

LEAST_DEPTH = 200
DEFAULT_DEPTH = 1000

_public = vars(builtins)


class Builtins:
    """The builtins a session starts with; user code may add to them and replace them."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, object] = {}

    def remember(self) -> None:
        """Once all builtins of the runtime are in place."""
        self._known = dict(_public)

    def restore(self) -> list[str]:
        """Puts deleted builtins back; returns their names."""
        if len(_public) >= len(self._known):
            return []
        missing = [name for name in self._known if name not in _public]
        for name in missing:
            _public[name] = self._known[name]
        return missing


def mute_signals() -> None:
    """User handlers that keep raising between executions are switched off."""
    for number in valid_signals():
        handler = getsignal(number)
        if callable(handler) and number != SIGINT:
            signal(number, SIG_IGN)
