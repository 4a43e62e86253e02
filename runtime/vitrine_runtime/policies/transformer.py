# SPDX-License-Identifier: Apache-2.0
"""RestrictedPython's transformer, opened to the Python that people write.

What is left closed is decided by `names` while compiling and by `guards` while running. Guards are
called by names that are no identifiers, so that no code can spell, shadow or replace them.
"""

from __future__ import annotations

import ast
import copy
from typing import Any, NoReturn

from RestrictedPython.transformer import RestrictingNodeTransformer

from ..sealed import __builtins__  # noqa: F401
from .names import (
    SPECIAL,
    check_attribute,
    check_stored_attribute,
    check_variable,
)
from .violation import refuse

_TELLS_CLASS = frozenset(("__name__", "__qualname__", "__doc__", "__module__"))
_COMPARES_CLASS = (ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.In, ast.NotIn)


def call(guard: str, arguments: list[Any], at: Any) -> ast.Call:
    place = {
        "lineno": at.lineno,
        "col_offset": at.col_offset,
        "end_lineno": at.end_lineno,
        "end_col_offset": at.end_col_offset,
    }
    name = ast.Name(guard, ast.Load(), **place)
    return ast.Call(name, arguments, [], **place)


class Transformer(RestrictingNodeTransformer):
    """For one cell. `texts`: annotations become text and are not evaluated."""

    def __init__(self, texts: bool) -> None:
        super().__init__()
        self._texts = texts
        self._classes: list[str] = []  # around the place being visited

    def error(self, node: ast.AST, info: str) -> NoReturn:
        line = getattr(node, "lineno", 0) or 0
        refuse("name", info.rstrip("."), "write it another way", line)

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        if name is not None:
            check_variable(name, node.lineno)

    # -- names and attributes

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802
        if node.id.startswith("__"):
            check_variable(node.id, node.lineno)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        name = self._mangled(node.attr)
        if not isinstance(node.ctx, ast.Load):
            check_stored_attribute(name, node.lineno)
            node.value = call("<write>", [self.visit(node.value)], node.value)
            return node
        check_attribute(name, node.lineno)
        if name in _TELLS_CLASS and _is_class(node.value):
            value = self._class(node.value)
        else:
            value = self.visit(node.value)
        guard = "<private>" if name.startswith("_") else "<get>"
        if name in SPECIAL:
            guard = "<special>"
        return call(guard, [value, ast.copy_location(ast.Constant(name), node)], node)

    def _mangled(self, name: str) -> str:
        if not name.startswith("__") or name.endswith("__") or not self._classes:
            return name
        owner = self._classes[-1].lstrip("_")
        return f"_{owner}{name}" if owner else name

    def _class(self, node: Any) -> ast.AST:
        """x.__class__, where it only tells or compares what type(x) is."""
        return call("<class>", [self.visit(node.value)], node)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        func: Any = node.func
        node.func = self._class(func) if _is_class(func) else self.visit(func)
        asks = isinstance(func, ast.Name) and func.id in ("isinstance", "issubclass")
        node.args = [
            self._class(argument) if asks and _is_class(argument) else self.visit(argument)
            for argument in node.args
        ]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: N802
        compares = all(isinstance(one, _COMPARES_CLASS) for one in node.ops)
        sides = [
            self._class(one) if compares and _is_class(one) else self.visit(one)
            for one in (node.left, *node.comparators)
        ]
        node.left, node.comparators = sides[0], sides[1:]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        index = self.visit(node.slice)
        value = self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            return call("<item>", [value, index], node)
        node.value, node.slice = call("<write>", [value], node.value), index
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:  # noqa: N802
        return self.node_contents_visit(node)  # its target is stored to, as in an assignment

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802
        return self.node_contents_visit(node)

    def visit_With(self, node: ast.With) -> ast.AST:  # noqa: N802
        return self.node_contents_visit(node)

    def guard_iter(self, node: Any) -> Any:
        node = self.node_contents_visit(node)
        node.iter = call("<iterate>", [node.iter], node.iter)
        return node

    # -- definitions

    def visit_FunctionDef(self, node: Any) -> ast.AST:  # noqa: N802
        self.check_name(node, node.name)
        self.check_function_argument_names(node)
        returns, node.returns = node.returns, None
        node = self.node_contents_visit(node)
        node.returns = self._annotation(returns)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = self._annotation(node.annotation)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802
        node.target = self.visit(node.target)
        node.annotation = self._annotation(node.annotation)
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def _annotation(self, node: Any) -> Any:
        if node is None:
            return None
        checked = self.visit(copy.deepcopy(node) if self._texts else node)
        return node if self._texts else checked

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:  # noqa: N802
        self.check_name(node, node.name)
        body, node.body = node.body, []
        node = self.node_contents_visit(node)
        self._classes.append(node.name)
        for statement in body:
            node.body.append(self.visit(statement))
        self._classes.pop()
        return node

    def visit_Module(self, node: ast.Module) -> ast.AST:  # noqa: N802
        return self.node_contents_visit(node)

    def visit_Global(self, node: Any) -> ast.AST:  # noqa: N802
        for name in node.names:
            check_variable(name, node.lineno)
        return node

    visit_Nonlocal = visit_Global  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:  # noqa: N802
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def check_import_names(self, node: Any) -> Any:
        for alias in node.names:
            self.check_name(node, alias.asname)
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            if node.level or not node.module:
                refuse("import", "relative imports are not allowed", "name it", node.lineno)
            module = ast.copy_location(ast.Constant(node.module), node)
            return ast.copy_location(ast.Expr(call("<star>", [module], node)), node)
        return node

    def _plain(self, node: Any) -> ast.AST:
        return self.node_contents_visit(node)

    visit_Await = visit_AsyncFor = visit_AsyncWith = visit_TryStar = _plain  # noqa: N815
    visit_NamedExpr = visit_TypeAlias = visit_TypeVar = _plain  # noqa: N815
    visit_ParamSpec = visit_TypeVarTuple = _plain  # noqa: N815

    # -- match

    def visit_Match(self, node: Any) -> ast.AST:  # noqa: N802
        values: list[Any] = []
        classes: list[Any] = []
        for case in node.cases:
            for part in ast.walk(case.pattern):
                self._look_at_pattern(part, values, classes)
            if case.guard is not None:
                case.guard = self.visit(case.guard)
            body = []
            for statement in case.body:
                body.append(self.visit(statement))
            case.body = body
        node.subject = self.visit(node.subject)
        if values or classes:
            guarded = [
                ast.copy_location(
                    ast.Tuple([self._later(one) for one in some], ast.Load()), node.subject
                )
                for some in (values, classes)
            ]
            node.subject = call("<match>", [node.subject, *guarded], node.subject)
        return node

    def _look_at_pattern(self, part: Any, values: list[Any], classes: list[Any]) -> None:
        """A pattern reads attributes itself: what it will read is tried before, with guards."""
        if isinstance(part, ast.MatchClass):
            for name in part.kwd_attrs:
                check_attribute(name, part.lineno)
                if name.startswith("_") and not name.startswith("__"):
                    continue
            if part.patterns:
                classes.append(part.cls)
        elif isinstance(part, ast.Attribute):
            values.append(part)
        elif isinstance(part, (ast.MatchAs, ast.MatchStar)):
            self.check_name(part, part.name)
        elif isinstance(part, ast.MatchMapping):
            self.check_name(part, part.rest)

    def _later(self, node: Any) -> ast.AST:
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.copy_location(ast.Lambda(nothing, self.visit(copy.deepcopy(node))), node)


def _is_class(node: Any) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "__class__"
