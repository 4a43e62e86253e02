# SPDX-License-Identifier: Apache-2.0
"""Text that others would run as code: format strings, annotations, expressions of libraries."""

from __future__ import annotations

import ast
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from ..imports import ImportHooks
from ..sealed import __builtins__  # noqa: F401
from . import tcl
from .names import check_attribute, is_special_form
from .violation import refuse

if TYPE_CHECKING:
    from .guards import Guards


class Evaluates(Protocol):
    """The policy, as far as text is concerned."""

    def evaluate(self, text: str, globals: Any, locals: Any) -> Any: ...
    def compiled(self, text: str) -> CodeType: ...
    def owns(self, names: Any) -> bool: ...
    def namespace(self, names: Any) -> dict[str, Any]: ...
    def check_namespace(self, module: Any) -> None: ...


_TCL_WORDS = frozenset(("tk", "wm", "winfo", "font", "ttk::style", "ttk::setTheme", "grid", "pack"))
_BACKENDS = ("vitrine_runtime.mpl_backend",)
_IN_ANNOTATIONS = (
    ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant,
    ast.BinOp, ast.BitOr, ast.Load, ast.Starred, ast.UnaryOp, ast.USub,
)  # fmt: skip


class Formatter(string.Formatter):
    """str.format that reaches attributes and items the way code does."""

    def __init__(self, guards: Guards) -> None:
        self._guards = guards

    def get_field(
        self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        import _string

        first, rest = _string.formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            if is_attribute:
                check_attribute(name)
                value = self._guards.attribute(value, name)
            else:
                value = self._guards.item(value, name)
        return value, first


def guarded(guards: Guards, obj: Any, name: str) -> Any:
    """A stand-in for obj.name where that takes text as code; None where it does not."""
    kind = type(obj)
    if name in ("format", "format_map"):
        if issubclass(kind, str):
            return _format(guards, name, obj)
        if issubclass(kind, type) and issubclass(obj, str):
            return lambda text, *args, **kwargs: _format(guards, name, text)(*args, **kwargs)
        return None
    module = sys.modules.get(getattr(obj, "__name__", "")) if name == "load" else None
    if module is obj and module is not None and module.__name__ == "numpy":
        return _load(obj.load)
    family = kind.__module__.partition(".")[0]
    if name in ("eval", "query"):
        if family == "pandas" or (module_name(obj) or "").partition(".")[0] == "pandas":
            return _pandas(getattr(obj, name))
    if name in ("apply", "agg", "aggregate", "transform"):
        classes = type.mro(obj) if kind is type and obj is not type else kind.__mro__
        if any(str(one.__module__).startswith("pandas.") for one in classes):
            return _by_name(getattr(obj, name))
        return None
    if name in ("eval", "evalfile", "call", "createcommand"):
        if kind.__name__ == "tkapp" or family in ("tkinter", "turtle") or _is_widget(obj):
            return _tcl(getattr(obj, name), name)
    return None


def module_name(obj: object) -> str | None:
    return getattr(obj, "__name__", None) if type(obj) is type(sys) else None


def _is_widget(obj: object) -> bool:
    tkinter = sys.modules.get("tkinter")
    return tkinter is not None and isinstance(obj, tkinter.Misc)


def _format(guards: Guards, name: str, text: str) -> Callable[..., str]:
    formatter = Formatter(guards)
    if name == "format_map":
        return lambda mapping: formatter.vformat(text, (), mapping)
    return lambda *args, **kwargs: formatter.vformat(text, args, kwargs)


def _load(load: Any) -> Callable[..., Any]:
    def numpy_load(file: Any, *arguments: Any, **options: Any) -> Any:
        if options.get("allow_pickle") or len(arguments) > 1:
            refuse(
                "expression", "numpy.load(allow_pickle=True) is not allowed", "save plain arrays"
            )
        return load(file, *arguments, **options)

    return numpy_load


def _pandas(method: Any) -> Callable[..., Any]:
    def checked(expr: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(expr, str):
            text = expr.replace(" ", "")
            at = [i for i, char in enumerate(text) if char == "@"]
            reaches = any("." in text[i:].partition(")")[0].partition(",")[0] for i in at)
            if "__" in text or "import" in text or (at and reaches):
                refuse(
                    "expression",
                    "this text reaches beyond columns and variables",
                    "allowed are columns, @variables, comparisons and arithmetic",
                )
        return method(expr, *arguments, **options)

    return checked


def _by_name(method: Any) -> Callable[..., Any]:
    """Methods of pandas that take names of methods."""

    def check(value: Any) -> None:
        if isinstance(value, str) and value.startswith("_"):
            check_attribute(value)
            refuse("attribute", f"the method {value!r} is private", "name a public one")
        elif isinstance(value, dict):
            for one in value.values():
                check(one)
        elif isinstance(value, (list, tuple)):
            for one in value:
                check(one)

    def checked(*arguments: Any, **options: Any) -> Any:
        check(arguments)
        check(options)
        return method(*arguments, **options)

    return checked


def _tcl(method: Any, name: str) -> Callable[..., Any]:
    def checked(*arguments: Any) -> Any:
        first = str(arguments[0]) if arguments else ""
        fine = first.startswith("tk::PlaceWindow") and not set(first) & set("[];$")
        if name == "call":
            fine = first in _TCL_WORDS or first.startswith(".")
        if not fine:
            refuse("expression", f"Tcl's {first[:40]!r} is not allowed", "use tkinter's methods")
        return method(*arguments)

    return checked


def check_annotation(text: str) -> None:
    """An annotation given as text: names, dots and brackets."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return  # whoever evaluates it says so
    for node in ast.walk(tree):
        if type(node) not in _IN_ANNOTATIONS or (
            isinstance(node, ast.Attribute) and node.attr.startswith("_")
        ):
            refuse(
                "expression",
                f"the annotation {text[:60]!r} does more than name a type",
                "allowed are names, dots, brackets and |",
            )
        if isinstance(node, ast.Name) and is_special_form(node.id):
            refuse("name", f"the name {node.id!r} is not allowed", "name a type")


def close(hooks: ImportHooks, policy: Evaluates) -> None:
    """In the worker: what runs text as code, deep inside libraries, asks first."""
    _close_annotations(policy)
    evaluate = policy.evaluate

    def close_sympy(parser: Any) -> None:
        parser.eval_expr = lambda code, own, names: evaluate(code, names, own)

    def close_patsy(formulas: Any) -> None:
        def run(self: Any, expr: str, source_name: str = "", inner_namespace: Any = None) -> Any:
            spaces = [inner_namespace or {}, *self._namespaces]
            return evaluate(expr, {}, formulas.VarLookupDict(spaces))

        formulas.EvalEnvironment.eval = run

    def close_matplotlib(registry: Any) -> None:
        kind = registry.BackendRegistry
        valid, name_of = kind.is_valid_backend, kind._backend_module_name

        def check(backend: Any) -> None:
            name = str(backend)
            if name.startswith("module://") and name[9:] not in _BACKENDS:
                policy.check_namespace(name[9:])

        def is_valid_backend(self: Any, backend: Any) -> Any:
            check(backend)
            return valid(self, backend)

        def module_name_of(self: Any, backend: Any) -> Any:
            check(backend)
            return name_of(self, backend)

        kind.is_valid_backend, kind._backend_module_name = is_valid_backend, module_name_of

    hooks.after("sympy.parsing.sympy_parser", close_sympy)
    hooks.after("patsy.eval", close_patsy)
    hooks.after("tkinter", tcl.close)
    hooks.after("tkinter.ttk", tcl.close_ttk)
    hooks.after("matplotlib.backends.registry", close_matplotlib)


def _close_annotations(policy: Evaluates) -> None:
    """Annotations given as text, by future statements too, are evaluated behind the guards."""
    import typing

    evaluate = typing.ForwardRef._evaluate

    def evaluated(self: Any, globalns: Any, localns: Any, *rest: Any, **options: Any) -> Any:
        module = sys.modules.get(getattr(self, "__forward_module__", None) or "")
        if module is not None:
            globalns = vars(module)
        spaces = [space for space in (globalns, localns) if space]
        # Of a class they are its own names and those of its module, in either order.
        names = next((one for one in spaces if "__builtins__" in one), {})
        if _asked_by_a_cell():
            for space in spaces:
                policy.check_namespace(space.get("__name__"))
        elif not policy.owns(names):
            check_annotation(self.__forward_arg__)
            return evaluate(self, globalns, localns, *rest, **options)
        self.__forward_module__ = None
        self.__forward_code__ = policy.compiled(self.__forward_arg__)
        return evaluate(self, policy.namespace(globalns or {}), localns, *rest, **options)

    typing.ForwardRef._evaluate = evaluated  # type: ignore[method-assign]


def _asked_by_a_cell() -> bool:
    """Whether it is the user's own code that called `typing`, and no library."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if name not in ("typing", "typing_extensions", __name__):
            return bool(frame.f_code.co_filename.startswith("<cell "))
        frame = frame.f_back
    return False
