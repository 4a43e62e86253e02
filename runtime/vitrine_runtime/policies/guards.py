# SPDX-License-Identifier: Apache-2.0
"""What attribute access, items, iteration, writes and imports go through under `restricted`.

Called by user code for nearly everything it does, so the common path is short: a type that can do
no harm goes through after one look.
"""

from __future__ import annotations

import builtins
import operator
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
from .modules import CLOSED_NAMES, NEVER, AllowList, is_module, name_of
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
    "pathlib", "shutil", "tempfile", "zipfile",
}  # fmt: skip

MOST_KINDS = 1000  # remembered: a cell in a loop may make classes without end

REFUSED_BUILTINS = {
    "open": "read files with pandas, numpy or PIL, and write with their methods",
    "eval": "write the expression itself; json.loads and decimal.Decimal read text",
    "exec": "write the statements themselves",
    "compile": "write the statements themselves",
    "globals": "keep values in a dict of your own",
    "locals": "keep values in a dict of your own",
    "breakpoint": "print the values",
    "help": "print(x.__doc__)",
}
_DROPPED = "copyright credits license memoryview __loader__ __spec__ __vitrine__".split()
_GROUP = getattr(builtins, "BaseExceptionGroup", None)  # since Python 3.11


class Guards:
    """One set for a session; knows its allow-list."""

    def __init__(self, allowed: AllowList, names: dict[str, Any]) -> None:
        self._allowed = allowed
        self._names = names
        self._writable: set[type] = set(HARMLESS)  # kinds of objects whose attributes may be set
        self._closed = {
            id(getattr(builtins, name)): name
            for name in ("open", "eval", "exec", "compile", "globals", "locals", "__import__")
        }
        # What takes names of attributes as text is replaced by what checks them.
        self._replaced: dict[int, object] = {
            id(operator.attrgetter): self.attrgetter,
            id(operator.methodcaller): self.methodcaller,
            id(builtins.getattr): self.getattr,
            id(builtins.setattr): self.setattr,
            id(builtins.delattr): self.delattr,
            id(builtins.hasattr): self.hasattr,
            id(builtins.vars): self.vars,
        }

    # -- what transformed code calls

    def get(self, obj: Any, name: str) -> Any:
        """obj.name, for a public name."""
        if type(obj) is ModuleType:
            return self._of_module(obj, name)
        value = getattr(obj, name)
        if type(value) in HARMLESS:
            return value
        return self._checked(obj, name, value)

    def get_private(self, obj: Any, name: str) -> Any:
        """obj._name and obj.__name__."""
        if is_module(obj):
            if name not in OF_MODULES:
                _refuse_private(obj, name)
            return getattr(obj, name)
        owner = type(obj).__module__
        if type(owner) is str and owner.startswith("vitrine_runtime"):
            _refuse_private(obj, name)
        if is_special_form(name):
            if name in ("__getattribute__", "__setattr__", "__delattr__"):
                return self._by_name(getattr(obj, name), name)
            if name in ("__dict__", "__annotations__"):
                return self._table(obj, name)
        return self._checked(obj, name, getattr(obj, name))

    def get_special(self, obj: Any, name: str) -> Any:
        """Names that are harmful on some objects only: see `strings`."""
        found = strings.guarded(self, obj, name)
        return self.get(obj, name) if found is None else found

    def item(self, obj: Any, index: Any) -> Any:
        value = obj[index]
        if type(value) in HARMLESS:
            return value
        return self._checked(obj, "", value)

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
                    self._check_name(name)
        return subject

    def import_star(self, name: str) -> None:
        """from name import *, at the top of a cell."""
        module = self.import_module(name, None, None, ("*",), 0)
        table = object.__getattribute__(module, "__dict__")
        public = table.get("__all__")
        if public is None:
            public = [key for key in table if type(key) is str and not key.startswith("_")]
        for key in public:
            value = getattr(module, key)
            if is_module(value) and name_of(value) not in self._allowed:
                continue
            if id(value) in self._closed or self._is_closed_name(module, key):
                continue
            self._names[key] = self._replaced.get(id(value), value)

    # -- builtins

    def import_module(
        self,
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> ModuleType:
        if type(name) is not str or level:
            refuse("import", "relative imports are not allowed", "name the module in full")
        self._allowed.check_import(name)
        fromlist = tuple(fromlist or ())
        module = __import__(name, None, None, fromlist, 0)
        replaced: dict[str, object] = {}
        for one in fromlist:
            if one != "*" and self._check_imported(module, one):
                replaced[one] = self._replaced[id(getattr(module, one))]
        if not replaced:
            return module
        stand_in = ModuleType(name)  # the statement takes its names from it, and drops it
        for one in fromlist:
            if one in replaced or hasattr(module, one):
                setattr(stand_in, one, replaced.get(one) or getattr(module, one))
        return stand_in

    def getattr(self, obj: Any, name: str, *default: Any) -> Any:
        self._check_name(name)
        try:
            return self.attribute(obj, name)
        except AttributeError:
            if default:
                return default[0]
            raise

    def hasattr(self, obj: Any, name: str) -> bool:
        self._check_name(name)
        if is_module(obj) and name.startswith("_"):
            return False
        return hasattr(obj, name)

    def setattr(self, obj: Any, name: str, value: Any) -> None:
        if type(name) is not str:
            raise TypeError("attribute name must be string")
        check_stored_attribute(name)
        setattr(self.write(obj), name, value)

    def delattr(self, obj: Any, name: str) -> None:
        if type(name) is not str:
            raise TypeError("attribute name must be string")
        check_stored_attribute(name)
        delattr(self.write(obj), name)

    def vars(self, *objects: Any) -> Any:
        if not objects:
            refuse("builtin", "vars() is not allowed", "keep values in a dict of your own")
        return self._table(objects[0], "__dict__")

    def attrgetter(self, *names: str) -> Callable[[Any], Any]:
        """operator.attrgetter with names that are checked."""
        paths = [name.split(".") for name in names]
        for path in paths:
            for part in path:
                self._check_name(part)

        def follow(obj: Any, path: list[str]) -> Any:
            for part in path:
                obj = self.attribute(obj, part)
            return obj

        def attrgetter(obj: Any) -> Any:
            found = tuple(follow(obj, path) for path in paths)
            return found[0] if len(found) == 1 else found

        return attrgetter

    def methodcaller(self, name: str, /, *arguments: Any, **options: Any) -> Callable[[Any], Any]:
        """operator.methodcaller with a name that is checked."""
        self._check_name(name)

        def methodcaller(obj: Any) -> Any:
            return self.attribute(obj, name)(*arguments, **options)

        return methodcaller

    def build_class(self, body: Any, name: str, *bases: Any, **options: Any) -> Any:
        made = __build_class__(body, name, *bases, **options)
        # Overridden there, `except*` trusts what it returns.
        if (
            _GROUP is not None
            and isinstance(made, type)
            and issubclass(made, _GROUP)
            and made.split is not _GROUP.split
        ):
            refuse(
                "name",
                "a subclass of ExceptionGroup cannot define split()",
                "define derive() instead",
            )
        return made

    def builtins(self, display: object, clear_output: object) -> dict[str, object]:
        """The builtins of restricted code, guards among them under names nobody can spell."""
        table = dict(vars(builtins))
        for name in _DROPPED:
            table.pop(name, None)
        for name, hint in REFUSED_BUILTINS.items():
            table[name] = _refusing(name, hint)
        table.update(
            {
                "__import__": self.import_module,
                "__build_class__": self.build_class,
                "getattr": _plain(self.getattr),
                "hasattr": _plain(self.hasattr),
                "setattr": _plain(self.setattr),
                "delattr": _plain(self.delattr),
                "vars": _plain(self.vars),
                "display": _plain(display),
                "clear_output": _plain(clear_output),
                "<get>": self.get,
                "<private>": self.get_private,
                "<special>": self.get_special,
                "<item>": self.item,
                "<iterate>": self.iterate,
                "<write>": self.write,
                "<class>": self.class_of,
                "<match>": self.match,
                "<star>": self.import_star,
            }
        )
        return table

    def attribute(self, obj: Any, name: str) -> Any:
        """obj.name for a name that is known at run time only, and was checked."""
        if name.startswith("_"):
            return self.get_private(obj, name)
        if name in SPECIAL:
            return self.get_special(obj, name)
        return self.get(obj, name)

    # -- decisions

    def _check_name(self, name: object) -> None:
        if type(name) is not str:
            raise TypeError("attribute name must be string")
        check_attribute(name)

    def _of_module(self, module: ModuleType, name: str) -> Any:
        own = name_of(module)
        path = f"{own}.{name}"
        if own not in self._allowed:
            if self._allowed.names(path) or self._allowed.leads(path):
                return getattr(module, name)
            self._allowed.check_module(module)
        self._allowed.check_name(own, name)
        return self._checked(module, name, getattr(module, name))

    def _is_closed_name(self, module: ModuleType, name: str) -> bool:
        return name in CLOSED_NAMES.get(name_of(module), ())

    def _check_imported(self, module: ModuleType, name: str) -> bool:
        """from module import name: whether there is a stand-in for it."""
        if name.startswith("_") and name not in OF_MODULES:
            _refuse_private(module, name)
        self._allowed.check_name(name_of(module), name)
        try:
            value = getattr(module, name)
        except AttributeError:
            return False  # the statement says so itself
        self._checked(module, name, value)
        return id(value) in self._replaced

    def _checked(self, obj: object, name: str, value: Any) -> Any:
        """A value about to be handed out."""
        if is_module(value):
            own = name_of(value)
            if own not in self._allowed and not self._allowed.leads(own):
                if is_module(obj) and self._allowed.names(f"{name_of(obj)}.{name}"):
                    return value  # by another name: os.path is posixpath
                self._allowed.check_module(value)
            return value
        if is_module(obj) and type(value) in _HOMED:
            self._check_home(name, value)
        number = id(value)
        closed = self._closed.get(number)
        if closed is not None:
            _refuse_builtin(closed, REFUSED_BUILTINS.get(closed, "use the statement import"))
        replaced = self._replaced.get(number)
        if replaced is not None:
            return replaced
        if type(value) is FrameType:
            refuse("attribute", "frames are not handed out", "format_exc() tells where it failed")
        return value

    def _check_home(self, name: str, value: Any) -> None:
        """A function or class that a module holds of another one: os.system under any roof."""
        home = getattr(value, "__module__", None)
        if type(home) is not str or home in self._allowed:
            return
        if home.partition(".")[0] in NO_HOME:
            refuse(
                "module",
                f"{name!r} is of the module {home!r} and is not handed out",
                "use what the module itself defines",
            )

    def _table(self, obj: object, name: str) -> Any:
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
                self._check_name(asked)
            elif type(asked) is str:
                check_stored_attribute(asked)
            if len(arguments) > last and is_module(arguments[0]):
                _refuse_private(arguments[0], str(asked))
            value = method(*arguments)
            return self._checked(None, "", value)

        return guarded


def _plain(function: Any) -> Callable[..., Any]:
    """A function instead of a method or an object: with nothing of ours behind a dot."""

    def guarded(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    guarded.__name__ = guarded.__qualname__ = getattr(function, "__name__", "guarded")
    guarded.__module__ = "builtins"
    return guarded


def _refusing(name: str, hint: str) -> Callable[..., NoReturn]:
    def refusing(*arguments: Any, **options: Any) -> NoReturn:
        _refuse_builtin(name, hint)

    refusing.__name__ = refusing.__qualname__ = name
    refusing.__module__ = "builtins"
    return refusing


def _refuse_builtin(name: str, hint: str) -> NoReturn:
    refuse("builtin", f"{name}() is not allowed", f"allowed is: {hint}")


def _refuse_private(obj: object, name: str) -> NoReturn:
    of = f"the module {name_of(obj)!r}" if is_module(obj) else f"a {type(obj).__name__}"  # type: ignore[arg-type]
    refuse("attribute", f"{name!r} of {of} is private", "allowed are its public names")
