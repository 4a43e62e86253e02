# SPDX-License-Identifier: Apache-2.0
"""multiprocessing with "spawn" and "forkserver": the child gets the definitions made in cells.

Such a child starts a new Python that runs the parent's main *file* again, and a session has none.
So the definitions of all cells (imports, functions, classes, constants) are written as a script
into a memory file of this process, which the child opens through /proc. Statements with effects
are left out; values computed in cells do not exist in the child.
"""

from __future__ import annotations

import ast
import os
import sys
from types import ModuleType

from .errors import FAILURES
from .imports import ImportHooks
from .sealed import __builtins__  # noqa: F401
from .sources import Sources

_DEFINITIONS = (ast.Import, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Spawning:
    """The script of definitions, written again when there are new cells."""

    __slots__ = ("_sources", "_fd", "_count", "_owner")

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._fd = -1
        self._count = -1
        self._owner = 0

    def install(self, imports: ImportHooks) -> None:
        imports.after("multiprocessing.spawn", self._patch)

    def _patch(self, spawn: ModuleType) -> None:
        original = spawn.get_preparation_data  # type: ignore[attr-defined]

        def get_preparation_data(name: str) -> dict[str, object]:
            data = original(name)
            main = sys.modules.get("__main__")
            if not {"init_main_from_name", "init_main_from_path"} & data.keys() and main:
                path = self.path()
                if path is not None:
                    data["init_main_from_path"] = path
            return data

        spawn.get_preparation_data = get_preparation_data  # type: ignore[attr-defined]

    def path(self) -> str | None:
        """Where a child finds the script; None if it cannot be written."""
        pid = os.getpid()
        try:
            if self._owner != pid or self._count != self._sources.count:
                self._write(definitions(self._sources))
                self._count, self._owner = self._sources.count, pid
        except FAILURES:
            return None
        return f"/proc/{pid}/fd/{self._fd}"

    def _write(self, script: str) -> None:
        fd = os.memfd_create("__main__.py", os.MFD_CLOEXEC)
        data = memoryview(script.encode("utf-8", "backslashreplace"))
        while data:
            data = data[os.write(fd, data) :]
        if self._fd >= 0 and self._owner == os.getpid():
            try:
                os.close(self._fd)
            except OSError:
                pass
        self._fd = fd


def definitions(sources: Sources) -> str:
    """One script with what the cells define, in their order; a failing part skips itself."""
    future: list[ast.stmt] = []
    body: list[ast.stmt] = []
    for name in sources.names():
        try:
            tree = ast.parse(sources.text(name) or "", name)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for statement in tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
                future.append(statement)
            elif _defines(statement):
                body.append(_guarded(statement))
    return ast.unparse(ast.fix_missing_locations(ast.Module(future + body, [])))


def _defines(statement: ast.stmt) -> bool:
    if isinstance(statement, (*_DEFINITIONS, ast.ImportFrom)):
        return True
    if isinstance(statement, ast.Try):
        return all(isinstance(s, (ast.Import, ast.ImportFrom)) for s in statement.body)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        try:
            ast.literal_eval(statement.value)
            return True
        except (ValueError, TypeError, MemoryError, RecursionError):
            return False
    return False


def _guarded(statement: ast.stmt) -> ast.stmt:
    handler = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])
    return ast.Try([statement], [handler], [], [])
