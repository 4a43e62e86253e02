# SPDX-License-Identifier: Apache-2.0
"""Actions just before or just after a module is imported for the first time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .errors import FAILURES
from .sealed import __builtins__  # noqa: F401

Before = Callable[[], None]
After = Callable[[ModuleType], None]


class ImportHooks:
    """First on sys.meta_path; knows its few names and leaves every other import alone."""

    def __init__(self) -> None:
        self._before: dict[str, Before] = {}
        self._after: dict[str, list[After]] = {}

    def install(self) -> None:
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]

    def before(self, name: str, action: Before) -> None:
        if name not in sys.modules:
            self._before[name] = action

    def forget(self, name: str) -> None:
        """Takes back what `before` registered."""
        self._before.pop(name, None)

    def after(self, name: str, action: After) -> None:
        """Runs `action` once `name` is imported: now, if it already is."""
        module = sys.modules.get(name)
        if module is not None:
            action(module)
        else:
            self._after.setdefault(name, []).append(action)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in self._before and name not in self._after:
            return None
        before = self._before.pop(name, None)
        if before is not None:
            _quietly(before)
        actions = self._after.get(name)
        if not actions:
            return None
        spec = self._real_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        self._wrap(spec.loader, name, actions)
        return spec

    def _real_spec(self, name: str, path: object, target: object) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)  # type: ignore[arg-type]
            if spec is not None:
                return spec
        return None

    def _wrap(self, loader: Any, name: str, actions: list[After]) -> None:
        """Loaders of files are made anew for every module, so one may carry its own method."""
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._after.pop(name, None)
            for action in actions:
                _quietly(action, module)

        try:
            loader.exec_module = exec_module
        except AttributeError:  # built-in and frozen modules share a loader: no hook for them
            pass


def _quietly(action: Callable[..., None], *arguments: object) -> None:
    """A hook must not make an import fail."""
    try:
        action(*arguments)
    except FAILURES:
        pass
