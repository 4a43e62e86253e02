# SPDX-License-Identifier: Apache-2.0
"""All GUI toolkits that user code has loaded, as one. None is ever imported here."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from . import gui_others, gui_pygame, gui_tk
from .errors import FAILURES
from .imports import ImportHooks
from .sealed import __builtins__  # noqa: F401

# The module without which there is nothing to do, and what is to be done, on the main thread.
REFRESH: tuple[tuple[str, Callable[[float], object]], ...] = (
    ("matplotlib._pylab_helpers", gui_others.refresh_figures),
    ("turtle", gui_tk.refresh),
    ("pygame", gui_pygame.refresh),
)
STEPS: tuple[tuple[str, Callable[[float], bool]], ...] = (
    ("tkinter", gui_tk.step),
    ("pygame", gui_pygame.step),
    *((f"{name}.QtCore", gui_others.step_qt) for name in gui_others.QT),
    ("gi.repository.Gtk", gui_others.step_gtk),
)
SLICE, SETTLE = 0.002, 0.05  # seconds
ROUNDS = 3  # a window is mapped, it is told so, it paints

_clock = time.monotonic
_modules = sys.modules


def install(imports: ImportHooks) -> None:
    gui_tk.install(imports)
    gui_pygame.install(imports)


def refresh(until: float) -> None:
    """What code has left undone is painted. User callbacks run here: they may raise or block."""
    for name, action in REFRESH:
        if name in _modules and _clock() < until:
            try:
                action(until)
            except FAILURES:
                pass
    until = min(until, _clock() + SETTLE)  # callbacks that call each other never come to an end
    for _ in range(ROUNDS):
        while step(SLICE) and _clock() < until:
            pass
        sync()


def sync() -> None:
    """The X server has drawn all that it was asked to."""
    if "tkinter" in _modules:
        gui_tk.sync()


def are_loaded() -> bool:
    return any(name in _modules for name, _ in STEPS)


def step(seconds: float) -> bool:
    """One slice of all event loops; whether one of them has more to do."""
    more = False
    for name, action in STEPS:
        if name in _modules:
            try:
                more = action(_clock() + seconds) or more
            except FAILURES:
                pass
    return more
