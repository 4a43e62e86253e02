# SPDX-License-Identifier: Apache-2.0
"""How long a thread was ready to run and had no processor. Time limits of ours leave it out: on a
busy machine it says nothing about the code."""

from __future__ import annotations

import _thread
import os

from .sealed import __builtins__  # noqa: F401

_open, _read, _close = os.open, os.read, os.close
_FLAGS = os.O_RDONLY | os.O_CLOEXEC


class Starvation:
    """Of the thread that makes it, from then on. May be asked by any."""

    def __init__(self, most: float) -> None:
        """`most`: seconds that it never exceeds."""
        self._file = f"/proc/self/task/{_thread.get_native_id()}/schedstat"
        self._most = most
        self._before = self._waited()

    def seconds(self) -> float:
        return min(max(0.0, self._waited() - self._before), self._most)

    def _waited(self) -> float:
        try:
            file = _open(self._file, _FLAGS)
            try:
                return int(_read(file, 128).split()[1]) / 1e9
            finally:
                _close(file)
        except (OSError, ValueError, IndexError):
            return 0.0  # not known: then time is time
