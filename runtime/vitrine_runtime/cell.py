# SPDX-License-Identifier: Apache-2.0
"""A cell: source in, compiled once, last expression apart from the statements before it."""

from __future__ import annotations
import __future__

from _ast import Expr, Expression, Module
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT, PyCF_ONLY_AST
from types import CodeType

from .sealed import __builtins__  # noqa: F401

TOP = PyCF_ALLOW_TOP_LEVEL_AWAIT
TREE = PyCF_ALLOW_TOP_LEVEL_AWAIT | PyCF_ONLY_AST
FUTURES = 0
for _name in __future__.all_feature_names:
    FUTURES |= getattr(__future__, _name).compiler_flag
FUTURES &= ~0x10  # nested_scopes shares its bit with inspect.CO_NESTED
COROUTINE = 0x80  # inspect.CO_COROUTINE

# A cell that calls one of these at its top level wants a running event loop, as in a notebook.
TASK_MAKERS = frozenset(("create_task", "ensure_future", "get_running_loop", "TaskGroup"))
LOOP_RUNNERS = frozenset(("run", "run_until_complete", "run_forever", "Runner"))

# A short line without any of these is probably one expression.
MAX_EXPRESSION = 200  # characters
NOT_IN_EXPRESSIONS = frozenset("=;\\\n?!%")
STATEMENTS = frozenset((
    "assert", "async", "class", "def", "del", "for", "from", "global", "if", "import", "nonlocal",
    "pass", "raise", "return", "try", "while", "with",
))  # fmt: skip


class Cell:
    """What is left to run: statements, then perhaps an expression whose value is the result."""

    __slots__ = ("body", "last", "in_loop")

    def __init__(self, body: CodeType | None, last: CodeType | None) -> None:
        self.body = body
        self.last = last
        self.in_loop = (body is not None and _wants_loop(body)) or (
            last is not None and _wants_loop(last)
        )


def _wants_loop(code: CodeType) -> bool:
    if code.co_flags & COROUTINE:
        return True
    names = code.co_names
    if not names or TASK_MAKERS.isdisjoint(names):
        return False
    return LOOP_RUNNERS.isdisjoint(names)


def expression(source: str, filename: str, futures: int) -> Cell | None:
    """A cell that is one short expression, compiled at once: a tree would cost as much again. None:
    it is something else, or it is wrong, and `parse` says how."""
    if len(source) > MAX_EXPRESSION or not NOT_IN_EXPRESSIONS.isdisjoint(source):
        return None
    if source.partition(" ")[0] in STATEMENTS:
        return None
    try:
        return Cell(None, compile(source, filename, "eval", TOP | futures, True))
    except SyntaxError:
        return None


def parse(source: str, filename: str, futures: int) -> Module:
    # dont_inherit: the future statements of this very file are not the user's.
    return compile(source, filename, "exec", TREE | futures, True)  # type: ignore[return-value]


def build(tree: Module, source: str, filename: str, futures: int) -> Cell:
    statements = tree.body
    flags = TOP | futures
    if not statements:
        return Cell(None, None)
    last = statements[-1]
    if type(last) is not Expr or (";" in source and _ends_with_semicolon(last, source)):
        return Cell(compile(tree, filename, "exec", flags, True), None)
    statements.pop()
    body = None
    if statements:
        body = compile(tree, filename, "exec", flags, True)
        flags |= body.co_flags & FUTURES
    return Cell(body, compile(Expression(last.value), filename, "eval", flags, True))


def _ends_with_semicolon(last: Expr, source: str) -> bool:
    """Whether a `;` follows the last expression: after its end only `)`, space, comments come."""
    lines = source.split("\n")
    row = (last.end_lineno or 1) - 1
    if row >= len(lines):
        return False
    tail = lines[row].encode("utf-8", "surrogatepass")[last.end_col_offset :]
    rest = [tail.decode("utf-8", "surrogatepass"), *lines[row + 1 :]]
    for line in rest:
        code = line.partition("#")[0]
        if ";" in code:
            return True
    return False
