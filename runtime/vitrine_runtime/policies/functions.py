# SPDX-License-Identifier: Apache-2.0
"""The builtins of code under `restricted`, and functions that take names of attributes as text."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from ..sealed import __builtins__  # noqa: F401
from .guards import REFUSED, Guards, refuse_builtin, refuse_private
from .modules import CLOSED_NAMES, is_module, name_of
from .names import OF_MODULES, check_stored_attribute
from .violation import refuse

_DROPPED = "copyright credits license memoryview __loader__ __spec__ __vitrine__".split()
_GROUP = getattr(builtins, "BaseExceptionGroup", None)  # since Python 3.11


class Functions:
    """Of one session. `names` is where `from module import *` puts what it brings."""

    def __init__(self, guards: Guards, names: dict[str, Any]) -> None:
        self._guards = guards
        self._names = names
        guards.replaced.update(
            {
                id(operator.attrgetter): self.attrgetter,
                id(operator.methodcaller): self.methodcaller,
                id(builtins.getattr): self.getattr,
                id(builtins.setattr): self.setattr,
                id(builtins.delattr): self.delattr,
                id(builtins.hasattr): self.hasattr,
                id(builtins.vars): self.vars,
            }
        )

    def import_star(self, name: str) -> None:
        """from name import *, at the top of a cell."""
        module = self.import_module(name, None, None, ("*",), 0)
        table = object.__getattribute__(module, "__dict__")
        public = table.get("__all__")
        if public is None:
            public = [key for key in table if type(key) is str and not key.startswith("_")]
        for key in public:
            value = getattr(module, key)
            if is_module(value) and name_of(value) not in self._guards.allowed:
                continue
            if id(value) in self._guards.closed or self._guards.homeless(value):
                continue
            if key in CLOSED_NAMES.get(name_of(module), ()):
                continue
            self._names[key] = self._guards.replaced.get(id(value), value)

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
        self._guards.allowed.check_import(name)
        fromlist = tuple(fromlist or ())
        module = __import__(name, None, None, fromlist, 0)
        replaced: dict[str, object] = {}
        for one in fromlist:
            if one != "*" and self._check_imported(module, one):
                replaced[one] = self._guards.replaced[id(getattr(module, one))]
        if not replaced:
            return module
        stand_in = ModuleType(name)  # the statement takes its names from it, and drops it
        for one in fromlist:
            if one in replaced or hasattr(module, one):
                setattr(stand_in, one, replaced.get(one) or getattr(module, one))
        return stand_in

    def getattr(self, obj: Any, name: str, *default: Any) -> Any:
        self._guards.check_name(name)
        try:
            return self._guards.attribute(obj, name)
        except AttributeError:
            if default:
                return default[0]
            raise

    def hasattr(self, obj: Any, name: str) -> bool:
        self._guards.check_name(name)
        if is_module(obj) and name.startswith("_"):
            return False
        return hasattr(obj, name)

    def setattr(self, obj: Any, name: str, value: Any) -> None:
        if type(name) is not str:
            raise TypeError("attribute name must be string")
        check_stored_attribute(name)
        setattr(self._guards.write(obj), name, value)

    def delattr(self, obj: Any, name: str) -> None:
        if type(name) is not str:
            raise TypeError("attribute name must be string")
        check_stored_attribute(name)
        delattr(self._guards.write(obj), name)

    def vars(self, *objects: Any) -> Any:
        if not objects:
            refuse("builtin", "vars() is not allowed", "keep values in a dict of your own")
        return self._guards.table(objects[0], "__dict__")

    def attrgetter(self, *names: str) -> Callable[[Any], Any]:
        """operator.attrgetter with names that are checked."""
        paths = [name.split(".") for name in names]
        for path in paths:
            for part in path:
                self._guards.check_name(part)

        def follow(obj: Any, path: list[str]) -> Any:
            for part in path:
                obj = self._guards.attribute(obj, part)
            return obj

        def attrgetter(obj: Any) -> Any:
            found = tuple(follow(obj, path) for path in paths)
            return found[0] if len(found) == 1 else found

        return attrgetter

    def methodcaller(self, name: str, /, *arguments: Any, **options: Any) -> Callable[[Any], Any]:
        """operator.methodcaller with a name that is checked."""
        self._guards.check_name(name)

        def methodcaller(obj: Any) -> Any:
            return self._guards.attribute(obj, name)(*arguments, **options)

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

    def table(self, display: object, clear_output: object) -> dict[str, object]:
        """The builtins of restricted code, guards among them under names nobody can spell."""
        table = dict(vars(builtins))
        for name in _DROPPED:
            table.pop(name, None)
        for name, hint in REFUSED.items():
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
                "<get>": self._guards.get,
                "<private>": self._guards.get_private,
                "<special>": self._guards.get_special,
                "<item>": self._guards.item,
                "<iterate>": self._guards.iterate,
                "<write>": self._guards.write,
                "<class>": self._guards.class_of,
                "<match>": self._guards.match,
                "<star>": self.import_star,
            }
        )
        return table

    def _check_imported(self, module: ModuleType, name: str) -> bool:
        """from module import name: whether there is a stand-in for it."""
        if name.startswith("_") and name not in OF_MODULES:
            refuse_private(module, name)
        self._guards.allowed.check_name(name_of(module), name)
        try:
            value = getattr(module, name)
        except AttributeError:
            return False  # the statement says so itself
        self._guards.checked(module, name, value)
        return id(value) in self._guards.replaced


def _plain(function: Any) -> Callable[..., Any]:
    """A function instead of a method or an object: with nothing of ours behind a dot."""

    def guarded(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    guarded.__name__ = guarded.__qualname__ = getattr(function, "__name__", "guarded")
    guarded.__module__ = "builtins"
    return guarded


def _refusing(name: str, hint: str) -> Callable[..., NoReturn]:
    def refusing(*arguments: Any, **options: Any) -> NoReturn:
        refuse_builtin(name, hint)

    refusing.__name__ = refusing.__qualname__ = name
    refusing.__module__ = "builtins"
    return refusing
