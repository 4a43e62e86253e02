# SPDX-License-Identifier: Apache-2.0
"""Matplotlib in a session: our backend in this process, plain Agg in others, a ready font list."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
import time
from functools import wraps
from types import ModuleType
from typing import Any

from . import loops, toolkits
from .errors import FAILURES
from .imports import ImportHooks
from .sealed import __builtins__  # noqa: F401

BACKEND = "module://vitrine_runtime.mpl_backend"
FONTS = "/usr/share/vitrine/matplotlib"

_clock = time.monotonic


def prepare(imports: ImportHooks) -> None:
    """In the zygote. Programs that user code starts see Agg: they have no session to show to."""
    if os.environ.get("MPLBACKEND") == BACKEND:
        os.environ["MPLBACKEND"] = "Agg"
        imports.after("matplotlib", _select_backend)
    imports.before("matplotlib", copy_fonts)
    imports.after("matplotlib.pyplot", _let_show_return)


def preload(imports: ImportHooks) -> None:
    """In the zygote: imports pyplot and draws once; writes nothing if there is a font list."""
    variable = "MPLCONFIGDIR"
    before = os.environ.get(variable)
    os.environ.setdefault(variable, tempfile.gettempdir())
    try:
        imports.forget("matplotlib")  # the font list is read where it lies
        import matplotlib

        cache = matplotlib.get_cachedir
        if glob.glob(os.path.join(FONTS, "fontlist-*.json")):
            matplotlib.get_cachedir = lambda: FONTS
        try:
            import matplotlib.pyplot as pyplot
        finally:
            matplotlib.get_cachedir = cache
        _draw_once(pyplot)
        _close_fonts()
    except (ImportError, OSError):
        pass
    finally:
        if before is None:
            os.environ.pop(variable, None)


def _close_fonts() -> None:
    """Fonts that drawing opened are files; a worker is born without the zygote's descriptors."""
    from matplotlib import font_manager

    clear = getattr(getattr(font_manager, "_get_font", None), "cache_clear", None)
    if clear is not None:
        clear()


def copy_fonts() -> None:
    """Saves the first import of matplotlib the seconds it takes to read all fonts."""
    files = glob.glob(os.path.join(FONTS, "fontlist-*.json"))
    if not files:
        return
    target = os.environ.get("MPLCONFIGDIR")
    if not target:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        target = os.path.join(cache, "matplotlib")
    os.makedirs(target, exist_ok=True)
    for file in files:
        copy = os.path.join(target, os.path.basename(file))
        if not os.path.exists(copy):
            shutil.copyfile(file, copy)


def _select_backend(module: ModuleType) -> None:
    if os.environ.get("MPLBACKEND", "Agg").lower() == "agg":  # not changed by the user
        module.rcParams["backend"] = BACKEND


def _let_show_return(pyplot: Any) -> None:
    """plt.show() in windows of a toolkit returns, as in a notebook; what comes behind it runs.

    An animation lives in the loop that show() is otherwise, so that stays if somebody looks: it is
    ended after the picture. show(block=True) is what it says.
    """
    show = pyplot.show

    @wraps(show)
    def show_and_return(*arguments: Any, **options: Any) -> Any:
        if not arguments and options.get("block") is None and _has_windows(pyplot):
            watched = worker_session().is_watched()
            options["block"] = watched and "matplotlib.animation" in sys.modules
            shown = show(**options)
            if not watched:
                toolkits.refresh(_clock() + 1.0)
            return shown
        return show(*arguments, **options)

    pyplot.show = show_and_return
    pyplot.pause = loops.counted(pyplot.pause)


def _has_windows(pyplot: Any) -> bool:
    try:
        canvas = pyplot._get_backend_mod().FigureCanvas
        return getattr(canvas, "required_interactive_framework", None) is not None
    except FAILURES:
        return False


def worker_session() -> Any:
    from . import worker  # which imports this module

    return worker.session()


def _draw_once(pyplot) -> None:
    """Loads fonts and the renderer; leaves no figure and no shown window behind."""
    import io

    figure = pyplot.figure()
    axes = figure.add_subplot()
    axes.plot([1, 2, 3])
    axes.set_title("a")
    figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")
    pyplot.close(figure)
