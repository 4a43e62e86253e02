# SPDX-License-Identifier: Apache-2.0
"""The policy `restricted`: real CPython, compiled through RestrictedPython, behind guards."""

from __future__ import annotations

import ast
import builtins
import sys
from types import CodeType
from typing import TYPE_CHECKING, Any, NoReturn

from ..cell import FUTURES
from ..sealed import __builtins__  # noqa: F401
from . import strings
from .functions import Functions
from .guards import Guards
from .modules import AllowList
from .transformer import Transformer
from .violation import PolicyViolation, refuse, take_first

if TYPE_CHECKING:
    from ..session import Session

DEEPEST = 10_000  # calls, while a cell is looked at
_ANNOTATIONS = 0x1000000  # __future__.annotations.compiler_flag


class Restricted:
    """Of one session; installed in its worker before the first cell."""

    name = "restricted"
    interprets = False

    def __init__(self, session: Session, imports: list[str]) -> None:
        self._allowed = AllowList(imports)
        functions = Functions(Guards(self._allowed), session.namespace.names)
        self._builtins = functions.table(session.display, session.display.clear_output)
        session.namespace.builtins = self._builtins
        self.notes = [
            f"imports: {', '.join(self._allowed.never)} is never allowed under the policy "
            "restricted; use the policy native for it"
        ] if self._allowed.never else []  # fmt: skip
        strings.close(session.imports, self)
        # A file of the session's own would run with no guards.
        sys.path[:] = [place for place in sys.path if place not in ("", ".")]

    def admit(self, tree: ast.Module, futures: int) -> ast.Module:
        """The cell as it may run. Raises PolicyViolation."""
        take_first()
        texts = bool(futures & FUTURES & _ANNOTATIONS) or any(
            isinstance(one, ast.ImportFrom)
            and one.module == "__future__"
            and any(alias.name == "annotations" for alias in one.names)
            for one in tree.body[:5]
        )
        try:
            return self._transformed(tree, texts)
        except PolicyViolation as refusal:
            refusal.__traceback__ = None  # nothing of the cell ran: its line is quoted instead
            raise

    def _transformed(self, tree: Any, texts: bool) -> Any:
        """A chain of a thousand sums is a tree a thousand deep."""
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, DEEPEST))
        try:
            return Transformer(texts).visit(tree)
        finally:
            sys.setrecursionlimit(limit)

    # -- text that libraries take for code; see `strings`

    def evaluate(self, text: str, globals: Any, locals: Any) -> Any:
        return eval(self.compiled(text), self.namespace(globals), locals)

    def compiled(self, text: str) -> CodeType:
        tree = self._transformed(ast.parse(text.strip(), mode="eval"), False)
        return compile(tree, "<text>", "eval")

    def namespace(self, names: Any) -> dict[str, Any]:
        """With guarded builtins, also where a library copied the real ones into its names."""
        real, guarded = vars(builtins), self._builtins
        own = {
            key: guarded.get(key) if key in real and value is real[key] else value
            for key, value in names.items()
        }
        return {**own, "__builtins__": guarded}

    def owns(self, names: Any) -> bool:
        """Names of the user's, and not of a library."""
        return names.get("__builtins__", self._builtins) is self._builtins

    def check_namespace(self, module: Any) -> None:
        if type(module) is str and module != "__main__":
            self._allowed.check_import(module)

    def run(self, source: str) -> object:
        raise RuntimeError("cells of this policy are compiled")

    def refuse_magic(self, source: str) -> NoReturn:
        line = next((i for i, text in enumerate(source.split("\n"), 1) if text.strip()), 1)
        for i, text in enumerate(source.split("\n"), 1):
            if text.lstrip()[:1] in ("!", "%"):
                line = i
                break
        take_first()
        refuse(
            "shell",
            "shell commands and magics are not allowed",
            "allowed is plain Python; packages are asked for when the session is created",
            line,
        )

    def refusal(self, error: BaseException | None) -> PolicyViolation | None:
        """Whether the policy refused something of the cell that ended with `error`."""
        first = take_first()
        if isinstance(error, KeyboardInterrupt):
            return None
        if isinstance(error, PolicyViolation):
            return error
        return first
