# SPDX-License-Identifier: Apache-2.0
"""inspect.getsource() for classes made in cells: `inspect` finds functions by itself."""

from __future__ import annotations

import inspect
import re
from types import FunctionType

from .sealed import __builtins__  # noqa: F401
from .sources import Sources


def install(sources: Sources) -> None:
    original = inspect.getfile

    def getfile(object: object) -> str:
        try:
            return original(object)  # type: ignore[arg-type]
        except (OSError, TypeError):
            if isinstance(object, type) and object.__module__ == "__main__":
                name = _cell_of(object, sources)
                if name is not None:
                    return name
            raise

    getfile.__doc__ = original.__doc__
    inspect.getfile = getfile  # type: ignore[assignment]


def _cell_of(cls: type, sources: Sources) -> str | None:
    """The cell of a method of the class, else the last one with such a class statement."""
    for member in vars(cls).values():
        function = getattr(member, "__func__", member)
        if isinstance(function, FunctionType) and function.__qualname__.startswith(
            cls.__qualname__ + "."
        ):
            return function.__code__.co_filename
    pattern = re.compile(rf"^[ \t]*class[ \t]+{re.escape(cls.__name__)}\b", re.MULTILINE)
    for name in reversed(sources.names()):
        if pattern.search(sources.text(name) or ""):
            return name
    return None
