# SPDX-License-Identifier: Apache-2.0
"""`from IPython.display import ...`, with IPython installed or not.

Without it: a finder, last on sys.meta_path and so asked only when nothing else was found, makes
the few modules that code uses. With it: its functions, which print where there is no IPython shell,
are replaced by ours; its classes work as they are.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from . import display_objects, mime
from .display import Display, DisplayHandle
from .imports import ImportHooks
from .sealed import __builtins__  # noqa: F401

PACKAGE = "IPython"
SHELL = "IPython.core.interactiveshell"  # ipywidgets imports it
MODULES = ("IPython.display", "IPython.core", "IPython.core.display", SHELL)


class ShimFinder:
    """Finder and loader of the few modules below `IPython`."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != PACKAGE and name not in MODULES:
            return None
        package = name in (PACKAGE, "IPython.core")
        return ModuleSpec(name, self, origin="vitrine", is_package=package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == PACKAGE:
            module.get_ipython = _no_shell  # type: ignore[attr-defined]
            module.version_info = (8, 24, 0, "")  # type: ignore[attr-defined]
            module.__version__ = "8.24.0"  # type: ignore[attr-defined]
            return
        if module.__name__ == "IPython.core":
            return
        if module.__name__ == SHELL:
            module.InteractiveShell = InteractiveShell  # type: ignore[attr-defined]
            return
        for cls in display_objects.CLASSES:
            setattr(module, cls.__name__, cls)
        show = self._display
        module.display = show  # type: ignore[attr-defined]
        module.update_display = show.update_display  # type: ignore[attr-defined]
        module.clear_output = show.clear_output  # type: ignore[attr-defined]
        module.DisplayHandle = DisplayHandle  # type: ignore[attr-defined]


class Formatter:
    """`display_formatter` of a shell."""

    def format(self, obj: object, **options: object) -> tuple[dict[str, object], dict[str, object]]:
        bundle, metadata = mime.bundle_of(obj)
        data = {
            kind: value.decode() if isinstance(value, bytes) and kind.startswith("text/") else value
            for kind, value in bundle.items()
        }
        return data, dict(metadata)


class InteractiveShell:
    """What packages use of IPython's shell without one: how it would show an object."""

    display_formatter = Formatter()
    _instance: InteractiveShell | None = None

    @classmethod
    def instance(cls, *arguments: object, **options: object) -> InteractiveShell:
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    @classmethod
    def initialized(cls) -> bool:
        return False


def _no_shell() -> None:
    """There is no IPython shell in a session."""
    return None


def install(display: Display, imports: ImportHooks) -> None:
    sys.meta_path.append(ShimFinder(display))  # type: ignore[arg-type]

    def connect(module: ModuleType) -> None:
        module.display = display  # type: ignore[attr-defined]
        module.update_display = display.update_display  # type: ignore[attr-defined]
        module.clear_output = display.clear_output  # type: ignore[attr-defined]

    imports.after("IPython.core.display_functions", connect)
