# SPDX-License-Identifier: Apache-2.0
"""Qt, GTK, and figures of matplotlib in windows of any toolkit."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

from .sealed import __builtins__  # noqa: F401

QT = ("PySide6", "PyQt6", "PyQt5", "PySide2")
MOST_EVENTS = 500  # of GTK in one step

_clock = time.monotonic
_modules = sys.modules


def _qt() -> tuple[Any, Any]:
    """The module QtCore and the application, if there is one."""
    for name in QT:
        core = _modules.get(f"{name}.QtCore")
        app = core.QCoreApplication.instance() if core is not None else None
        if app is not None:
            return core, app
    return None, None


def step_qt(until: float) -> bool:
    core, app = _qt()
    if app is not None:
        flags = core.QEventLoop.ProcessEventsFlag.AllEvents
        app.processEvents(flags, max(1, int((until - _clock()) * 1000)))
    return False


def in_qt() -> bool:
    """From another thread: whether the main thread runs a loop."""
    _, app = _qt()
    return app is not None and app.thread().loopLevel() > 0


def quit_qt() -> None:
    """From another thread. Not by `QCoreApplication.quit`: in Qt 6 that closes all windows first,
    and the next execution would find none."""
    _, app = _qt()
    if in_qt():
        app.thread().exit(0)  # of a QThread; it may be asked from any


def step_gtk(until: float) -> bool:
    gtk = _modules.get("gi.repository.Gtk")
    if gtk is None or not hasattr(gtk, "events_pending"):  # GTK 4 has it no more
        return False
    for _ in range(MOST_EVENTS):
        if not gtk.events_pending():
            return False
        gtk.main_iteration_do(False)
        if _clock() > until:
            break
    return True


def in_gtk() -> bool:
    """From another thread: whether the main thread runs a loop."""
    gtk = _modules.get("gi.repository.Gtk")
    return gtk is not None and hasattr(gtk, "main_level") and gtk.main_level() > 0


def quit_gtk() -> None:
    """From another thread."""
    if in_gtk():
        glib = _modules.get("gi.repository.GLib")
        if glib is None:
            glib = importlib.import_module("gi.repository.GLib")
        glib.idle_add(_modules["gi.repository.Gtk"].main_quit)  # type: ignore[union-attr]


def refresh_figures(until: float) -> None:
    helpers = _modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return
    for manager in helpers.Gcf.get_all_fig_managers():
        canvas = manager.canvas
        if getattr(canvas, "required_interactive_framework", None) is None:
            continue  # it is a result, see `figures`
        manager.show()
        if canvas.figure.stale:
            canvas.draw()
        if _clock() > until:
            return
