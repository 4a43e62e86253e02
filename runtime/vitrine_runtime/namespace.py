# SPDX-License-Identifier: Apache-2.0
"""The session's one namespace: a real `__main__` module, kept usable whatever a cell did to it."""

from __future__ import annotations

import builtins
import sys
from types import ModuleType

from .sealed import __builtins__ as _sealed

__builtins__ = _sealed

_modules = sys.modules


class Namespace:
    """`__main__` and the results kept in it under `_`, `__`, `___`."""

    __slots__ = ("module", "names", "builtins", "_former", "_shown")

    def __init__(self) -> None:
        self._former = _modules.get("__main__")  # its globals must outlive code that uses them
        self.module = ModuleType("__main__")
        self.names = self.module.__dict__
        self.builtins: object = builtins  # a policy has a table of its own
        self.names["__builtins__"] = builtins
        self._shown: tuple[object, ...] = ()

    def install(self) -> None:
        _modules["__main__"] = self.module

    def repair(self) -> None:
        """Before every cell: what exec() would otherwise fill in with our own builtins, and what
        pickle, dataclasses and typing look up."""
        names = self.names
        if names.get("__builtins__") is not self.builtins:
            names["__builtins__"] = self.builtins
        if _modules.get("__main__") is not self.module:
            _modules["__main__"] = self.module
        if sys.modules is not _modules:
            sys.modules = _modules
        if names.get("__name__") != "__main__":
            names["__name__"] = "__main__"
        names.pop("__warningregistry__", None)  # line numbers start again in every cell

    def remember(self, value: object) -> None:
        """Shifts `_`, `__`, `___`, unless the user gave `_` a meaning of their own."""
        names = self.names
        shown = self._shown
        if "_" in names and not (shown and names["_"] is shown[0]):
            return
        names["_"] = value
        if not shown:
            self._shown = (value,)
            return
        names["__"] = shown[0]
        if len(shown) == 1:
            self._shown = (value, shown[0])
            return
        names["___"] = shown[1]
        self._shown = (value, shown[0], shown[1])

    def forget(self) -> None:
        """After a rehearsal: as if nothing had been shown."""
        self._shown = ()
        for name in ("_", "__", "___", "__annotations__"):
            self.names.pop(name, None)
