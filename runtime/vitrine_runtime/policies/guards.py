# SPDX-License-Identifier: Apache-2.0
"""What attribute access, items, iteration, writes and imports go through under `restricted`.

Called by user code for nearly everything it does, so the common path is short: a type that can do
no harm goes through after one look.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    FrameType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any, NoReturn

from ..sealed import __builtins__  # noqa: F401
from . import strings
from .modules import NEVER, RUNS_TEXT, AllowList, is_module, name_of
from .names import (
    OF_MODULES,
    SPECIAL,
    check_attribute,
    check_stored_attribute,
    is_special_form,
)
from .violation import refuse

HARMLESS = frozenset(
    (int, float, complex, bool, str, bytes, bytearray, list, tuple, dict, set, frozenset, range,
     slice, type(None), MethodType)
)  # fmt: skip

_HOMED = (FunctionType, BuiltinFunctionType, type)
# Locks and pure functions on paths come from modules that are closed themselves.
NO_HOME = (NEVER - {"builtins", "vitrine_runtime", "signal", "posixpath", "_thread"}) | {
    "pathlib", "shutil", "tempfile", "zipfile", *RUNS_TEXT,
}  # fmt: skip

REFUSED = {
    "open": "read files with pandas, numpy or PIL, and write with their methods",
    "eval": "write the expression itself; json.loads and decimal.Decimal read text",
    "exec": "write the statements themselves",
    "compile": "write the statements themselves",
    "globals": "keep values in a dict of your own",
    "locals": "keep values in a dict of your own",
    "breakpoint": "print the values",
    "help": "print(x.__doc__)",
    "vitrine_install": "packages are asked for when the session is created",
}
MOST_KINDS = 1000  # remembered: a cell in a loop may make classes without end


class Guards:
    """One set for a session; knows its allow-list."""

    def __init__(self, allowed: AllowList) -> None:
        self.allowed = allowed
        self._writable: set[type] = set(HARMLESS)  # kinds of objects whose attributes may be set
        self.closed = {
            id(getattr(builtins, name)): name
            for name in ("open", "eval", "exec", "compile", "globals", "locals", "__import__")
        }
        # What takes names of attributes as text, and what stands in for it; see `functions`.
        self.replaced: dict[int, object] = {}

    # -- what transformed code calls

    def get(self, obj: Any, name: str) -> Any:
        """obj.name, for a public name."""
        if type(obj) is ModuleType:
            return self._of_module(obj, name)
        value = getattr(obj, name)
        if type(value) in HARMLESS:
            return value
        return self.checked(obj, name, value)

    def get_private(self, obj: Any, name: str) -> Any:
        """obj._name and obj.__name__."""
        if is_module(obj):
            if name not in OF_MODULES:
                refuse_private(obj, name)
            return getattr(obj, name)
        owner = type(obj).__module__
        if type(owner) is str and owner.startswith("vitrine_runtime"):
            refuse_private(obj, name)
        if is_special_form(name):
            if name in ("__getattribute__", "__setattr__", "__delattr__"):
                return self._by_name(getattr(obj, name), name)
            if name in ("__dict__", "__annotations__"):
                return self.table(obj, name)
        return self.checked(obj, name, getattr(obj, name))

    def get_special(self, obj: Any, name: str) -> Any:
        """Names that are harmful on some objects only: see `strings`."""
        found = strings.guarded(self, obj, name)
        return self.get(obj, name) if found is None else found

    def item(self, obj: Any, index: Any) -> Any:
        value = obj[index]
        if type(value) in HARMLESS:
            return value
        return self.checked(obj, "", value)

    def iterate(self, obj: Any) -> Any:
        if type(obj) is MappingProxyType or is_module(obj):
            refuse("attribute", "tables of classes and modules cannot be walked", "use dir()")
        return obj

    def write(self, obj: Any) -> Any:
        """The object, if its attributes and items may be set."""
        kind = type(obj)
        if kind in self._writable:
            return obj
        if is_module(obj):
            refuse(
                "write",
                f"the module {name_of(obj)!r} cannot be changed",
                "keep values in variables of your own",
            )
        if issubclass(kind, type) and type.__getattribute__(obj, "__module__") != "__main__":
            refuse(
                "write",
                f"the class {type.__getattribute__(obj, '__name__')!r} is not yours to change",
                "make a subclass of it",
            )
        if kind is FunctionType and obj.__module__ != "__main__":
            refuse("write", "a function of a module cannot be changed", "wrap it in one of yours")
        if not issubclass(kind, type) and kind is not FunctionType:
            if len(self._writable) > MOST_KINDS:
                self._writable = set(HARMLESS)
            self._writable.add(kind)
        return obj

    def class_of(self, obj: object) -> type:
        return type(obj)

    def match(
        self,
        subject: object,
        values: tuple[Callable[[], object], ...],
        classes: tuple[Callable[[], Any], ...],
    ) -> object:
        """Before a match statement: patterns read attributes with no guard in between."""
        for thunk in values:
            try:
                thunk()
            except Exception:
                pass  # the statement itself will say so, if it gets there
        for thunk in classes:
            try:
                names = thunk().__match_args__
            except Exception:
                continue
            for name in names if type(names) is tuple else ():
                if type(name) is str:
                    self.check_name(name)
        return subject

    # -- decisions

    def attribute(self, obj: Any, name: str) -> Any:
        """obj.name for a name that is known at run time only, and was checked."""
        if name.startswith("_"):
            return self.get_private(obj, name)
        if name in SPECIAL:
            return self.get_special(obj, name)
        return self.get(obj, name)

    def check_name(self, name: object) -> None:
        if type(name) is not str:
            raise TypeError("attribute name must be string")
        check_attribute(name)

    def _of_module(self, module: ModuleType, name: str) -> Any:
        own = name_of(module)
        path = f"{own}.{name}"
        if own not in self.allowed:
            if self.allowed.names(path) or self.allowed.leads(path):
                return getattr(module, name)
            self.allowed.check_module(module)
        self.allowed.check_name(own, name)
        return self.checked(module, name, getattr(module, name))

    def checked(self, obj: object, name: str, value: Any) -> Any:
        """A value about to be handed out."""
        if is_module(value):
            own = name_of(value)
            if own not in self.allowed and not self.allowed.leads(own):
                if is_module(obj) and self.allowed.names(f"{name_of(obj)}.{name}"):
                    return value  # by another name: os.path is posixpath
                self.allowed.check_module(value)
            return value
        if is_module(obj) and self.homeless(value):
            refuse(
                "module",
                f"{name!r} is of the module {value.__module__!r} and is not handed out",
                "use what the module itself defines",
            )
        number = id(value)
        closed = self.closed.get(number)
        if closed is not None:
            refuse_builtin(closed, REFUSED.get(closed, "the statement import"))
        replaced = self.replaced.get(number)
        if replaced is not None:
            return replaced
        kind = type(value)
        if kind is FrameType:
            refuse("attribute", "frames are not handed out", "format_exc() tells where it failed")
        if kind.__name__ == "PytestTester" or self._is_template(kind):
            refuse("attribute", f"{name!r} runs text and is not handed out", "write it as code")
        return value

    def _is_template(self, kind: type) -> bool:
        """Templates evaluate expressions; pandas hands out its own."""
        home = kind.__module__
        return type(home) is str and home.startswith("jinja2.") and home not in self.allowed

    def homeless(self, value: Any) -> bool:
        """Whether it is a function or class of a closed module: os.system under any roof."""
        home = getattr(value, "__module__", None) if type(value) in _HOMED else None
        if type(home) is not str or home in self.allowed:
            return False
        return home.partition(".")[0] in NO_HOME

    def table(self, obj: object, name: str) -> Any:
        """__dict__ of instances; a copy of annotations, which are code to others."""
        if name == "__annotations__":
            return dict(getattr(obj, name))
        if is_module(obj) or issubclass(type(obj), (type, FunctionType, BuiltinFunctionType)):
            refuse(
                "attribute",
                "the table of names of a class, function or module is not handed out",
                "dir(x) names them; __dict__ of instances is allowed",
            )
        return obj.__dict__

    def _by_name(self, method: Any, name: str) -> Callable[..., Any]:
        """__getattribute__ and its kind take the attribute's name as their argument."""
        last = 2 if name == "__setattr__" else 1

        def guarded(*arguments: Any) -> Any:
            asked = arguments[-last] if len(arguments) >= last else None
            if name == "__getattribute__":
                self.check_name(asked)
            elif type(asked) is str:
                check_stored_attribute(asked)
            if len(arguments) > last and is_module(arguments[0]):
                refuse_private(arguments[0], str(asked))
            value = method(*arguments)
            return self.checked(None, "", value)

        return guarded


def refuse_builtin(name: str, hint: str) -> NoReturn:
    refuse("builtin", f"{name}() is not allowed", f"allowed is: {hint}")


def refuse_private(obj: object, name: str) -> NoReturn:
    of = f"the module {name_of(obj)!r}" if is_module(obj) else f"a {type(obj).__name__}"  # type: ignore[arg-type]
    refuse("attribute", f"{name!r} of {of} is private", "allowed are its public names")
