# SPDX-License-Identifier: Apache-2.0
"""The policy `smolagents`: cells run in that package's own interpreter, its LocalPythonExecutor.

What it cannot do fails as it does there. Its limits of time and output are the session's; its
counts of operations and loops stay.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import importlib.util
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from ..sealed import __builtins__ as _sealed
from .violation import PolicyViolation

if TYPE_CHECKING:
    from ..session import Session

__builtins__ = _sealed

INSTEAD = "the policies restricted and native run real Python and can do this"

# How it says that it refuses, in contrast to code that failed.
_REFUSALS = re.compile(
    r"not allowed|Forbidden|not among|is not supported|not permitted|Unsupported|"
    r"Cannot assign to name|Maximum number|Reached the max|dunder"
)
_LINE = re.compile(r"Code parsing failed on line (\d+)")


class Smolagents:
    """Of one session; installed in its worker before the first cell."""

    name = "smolagents"
    interprets = True

    def __init__(self, session: Session, imports: list[str]) -> None:
        from smolagents import local_python_executor as package

        package.PrintContainer = _Prints  # type: ignore[misc]
        self.notes: list[str] = []
        self._error = package.InterpreterError
        self._executor = package.LocalPythonExecutor(
            self._installed(imports), timeout_seconds=None, max_print_outputs_length=1
        )
        self._executor.additional_functions = {
            "display": session.display,
            "clear_output": session.display.clear_output,
            "format_exc": builtins.format_exc,  # type: ignore[attr-defined]
            "safe_json_dumps": builtins.safe_json_dumps,  # type: ignore[attr-defined]
        }
        self._executor.send_tools({"final_answer": _final_answer})
        self._session = session
        self._source = ""

    def _installed(self, imports: list[str]) -> list[str]:
        """It refuses to start with modules that are not there: those are left out, and said."""
        found = []
        for name in imports:
            root = name.partition(".")[0]
            if importlib.util.find_spec(root) is not None:
                found.append(name)
                continue
            close = difflib.get_close_matches(root, sys.stdlib_module_names, 1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            self.notes.append(f"imports: the module {root!r} is not installed{meant}")
        return found

    def run(self, source: str) -> object:
        """The value of a last expression, or of final_answer()."""
        self._source = source
        try:
            done = self._executor(source)
        except self._error as error:
            # Its text says where; what stands in the traceback is the interpreter's own.
            error.__suppress_context__, error.__traceback__ = True, None
            raise
        if done.is_final_answer or _ends_with_expression(source):
            return done.output
        return None

    def admit(self, tree: ast.Module, futures: int) -> ast.Module:
        raise RuntimeError("cells of this policy are not compiled")

    def refuse_magic(self, source: str) -> NoReturn:
        raise RuntimeError("cells of this policy are not compiled")

    def refusal(self, error: BaseException | None) -> PolicyViolation | None:
        if type(error) is not self._error:
            return None
        cause = error.__context__
        self._advise(f"{error}")
        refused = cause is None or type(cause) is self._error
        if not refused or not _REFUSALS.search(str(error)):
            return None
        violation = PolicyViolation("smolagents", self._line_of(error), str(error), INSTEAD)
        return violation

    def _line_of(self, error: BaseException) -> int:
        """It names the statement, not its line."""
        quoted = str(error).partition("at line '")[2].partition("' due to")[0]
        at = self._source.find(quoted) if quoted else -1
        return self._source.count("\n", 0, at) + 1 if at >= 0 else 0

    def _advise(self, text: str) -> None:
        execution = self._session.execution
        if execution is None:
            return
        if "@" in self._source and "class " in self._source and "takes no arguments" in text:
            execution.note(
                "decorators of classes, such as @dataclass, do nothing in smolagents' "
                f"interpreter: write __init__ yourself, or create the session with "
                f"policy restricted or native; {INSTEAD}"
            )
        elif _REFUSALS.search(text):
            execution.note(f"smolagents' interpreter refused this; {INSTEAD}")


class _Prints:
    """What print() of a cell adds to: goes to stdout at once, and is not kept."""

    value = ""

    def append(self, text: object) -> _Prints:
        return self.__iadd__(text)

    def __iadd__(self, text: object) -> _Prints:
        sys.stdout.write(str(text))
        return self

    def __str__(self) -> str:
        return ""

    def __len__(self) -> int:
        return 0


def _final_answer(value: Any = None) -> Any:
    """Ends the cell; its argument is the cell's value."""
    return value


def _ends_with_expression(source: str) -> bool:
    body = ast.parse(source).body
    return bool(body) and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";")
