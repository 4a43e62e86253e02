# SPDX-License-Identifier: Apache-2.0
"""The table of magics, and the object through which transformed cells reach it."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import magic_cells, magic_lines, packages, shell
from .sealed import __builtins__ as _sealed
from .transform import HOOK, CellMagic

if TYPE_CHECKING:
    from .display import Display
    from .namespace import Namespace
    from .results import Results
    from .runner import Runner
    from .streams import Streams

__builtins__ = _sealed

LineMagic = Callable[["Magics", str], object]
CellFunction = Callable[["Magics", CellMagic], object]

LINE: dict[str, LineMagic] = {
    "alias": magic_lines.accepted,
    "autoreload": magic_lines.accepted,
    "cat": magic_lines.cat,
    "cd": magic_lines.cd,
    "conda": packages.pip,
    "config": magic_lines.accepted,
    "env": magic_lines.env,
    "load_ext": magic_lines.accepted,
    "ls": magic_lines.ls,
    "lsmagic": magic_lines.lsmagic,
    "matplotlib": magic_lines.matplotlib,
    "mkdir": magic_lines.mkdir,
    "pip": packages.pip,
    "pwd": magic_lines.pwd,
    "reset": magic_lines.reset,
    "run": magic_lines.run,
    "set_env": magic_lines.env,
    "time": magic_lines.time_it_once,
    "timeit": magic_lines.timeit,
    "uv": packages.pip,
    "who": magic_lines.who,
}
CELL: dict[str, CellFunction] = {
    "bash": magic_cells.bash,
    "capture": magic_cells.capture,
    "file": magic_cells.writefile,
    "html": magic_cells.show,
    "javascript": magic_cells.show,
    "latex": magic_cells.show,
    "markdown": magic_cells.show,
    "sh": magic_cells.sh,
    "svg": magic_cells.show,
    "time": magic_cells.time_it_once,
    "timeit": magic_cells.timeit,
    "writefile": magic_cells.writefile,
}


def names_of(table: dict[str, Any], mark: str) -> str:
    return " ".join(mark + name for name in sorted(table))


class Magics:
    """The builtin that transformed cells call. Runs inside the gate, as user code does."""

    def __init__(
        self,
        runner: Runner,
        namespace: Namespace,
        results: Results,
        streams: Streams,
        display: Display,
    ) -> None:
        self.run_part = runner.run_part
        self.namespace = namespace
        self.names = namespace.names
        self.display = display
        self.previous_directory: str | None = None
        self._results = results
        self._streams = streams

    def install(self) -> None:
        setattr(builtins, HOOK, self)

    def note(self, text: str) -> None:
        execution = self._results.current
        if execution is not None:
            execution.note(text)

    def magic(self, name: str, arguments: str, bare: bool = False) -> object:
        if bare:
            return self.shell(f"pip install {arguments}")
        return LINE[name](self, arguments)

    def cell(self, magic: CellMagic) -> object:
        found = CELL.get(magic.name)
        if found is None:
            line = f"%%{magic.name} {magic.arguments}".rstrip()
            raise SyntaxError(_unknown(magic.name, cell=True), ("", magic.offset, 1, line))
        return found(self, magic)

    def shell(self, command: str) -> None:
        command = shell.expand(command, self.names)
        words = packages.install_words(command)
        if words is not None:
            packages.pip(self, words)
        else:
            self.shell_script(command, shell.SHELL)

    def shell_script(self, script: str, program: str) -> None:
        self._streams.flush()
        self.exited(script, shell.run(script, program))

    def shell_lines(self, command: str) -> list[str]:
        command = shell.expand(command, self.names)
        self._streams.flush()
        lines, status = shell.capture(command)
        self.exited(command, status)
        return lines

    def exited(self, command: str, status: int) -> None:
        self.names["_exit_code"] = status
        if status:
            if len(command) > 100:
                command = command[:100] + "..."
            self.note(f"the shell command exited with {status}: {command}")

    def explain(self, name: str) -> None:
        """`name?`: what help() says."""
        try:
            value = eval(name, self.names)
        except Exception:
            print(f"Object `{name}` not found.")
            return
        import pydoc

        print(pydoc.plain(pydoc.render_doc(value)))


def problem(name: str) -> str | None:
    """Why there is no line magic of this name; None if there is one."""
    return None if name in LINE else _unknown(name, cell=False)


def _unknown(name: str, cell: bool) -> str:
    mark = "%%" if cell else "%"
    exists = names_of(CELL, "%%") if cell else names_of(LINE, "%")
    hint = ""
    if name in (LINE if cell else CELL):
        hint = f" ({'%' if cell else '%%'}{name} exists)"
    return f"unknown magic {mark}{name}{hint}; there are: {exists}"
