# SPDX-License-Identifier: Apache-2.0
"""tkinter (and turtle, and matplotlib's TkAgg): keep its windows painted, end its loops.

Every interpreter is known from the moment it is made. A descriptor that Tcl watches is what wakes
a loop that waits for events: a thread writes to it, Tcl calls `_woken` on the thread that waits.
"""

from __future__ import annotations

import _thread
import os
import sys
import time
import weakref
from collections.abc import Callable
from functools import wraps
from types import FrameType, ModuleType
from typing import Any

from . import loops
from .errors import FAILURES
from .imports import ImportHooks
from .loops import LoopEnded
from .sealed import __builtins__  # noqa: F401

DONT_WAIT, READABLE = 2, 2
NO_WINDOWS = 1 << 20  # mainloop() with this many to keep returns at once

_clock = time.monotonic
_modules = sys.modules
_roots: list[weakref.ref[Any]] = []
_wake_fd = -1
on_wake: Callable[[], None] | None = None  # runs on the main thread, inside the loop
_codes: dict[str, object] = {}


def install(imports: ImportHooks) -> None:
    imports.after("tkinter", _hook)
    imports.after("tkinter.commondialog", _hook_dialogs)
    imports.after("turtle", lambda module: loops.blocks(module.TurtleScreenBase.mainloop))


def _hook_dialogs(module: ModuleType) -> None:
    loops.blocks(module.Dialog.show)
    _codes["show"] = module.Dialog.show.__code__


def _hook(module: ModuleType) -> None:
    make = module.Tk.__init__

    @wraps(make)
    def init(self: Any, *arguments: Any, **options: Any) -> None:
        make(self, *arguments, **options)
        try:
            _adopt(self)
        except FAILURES:
            pass

    module.Tk.__init__ = init  # type: ignore[attr-defined]
    misc = module.Misc
    report = misc._report_exception

    @wraps(report)
    def _report_exception(self: Any) -> None:
        error = sys.exc_info()[1]
        if type(error) is LoopEnded:
            return  # it has ended the callback, and the loop ends anyway
        if isinstance(error, KeyboardInterrupt):
            raise error  # as SystemExit: out of the loop, and not only out of this callback
        report(self)

    misc._report_exception = _report_exception
    for name in ("mainloop", "wait_variable", "wait_window", "wait_visibility"):
        loops.blocks(getattr(misc, name))
        _codes[name] = getattr(misc, name).__code__
    loops.blocks(module.mainloop)
    misc.update = loops.counted(misc.update)
    misc.update_idletasks = loops.counted(misc.update_idletasks)


def _adopt(root: Any) -> None:
    global _wake_fd
    if _thread.get_ident() != _modules["threading"].main_thread().ident:  # type: ignore[attr-defined]
        return  # a loop of another thread is none that anybody waits for
    _roots[:] = [known for known in _roots if known() is not None]
    _roots.append(weakref.ref(root))
    if _wake_fd < 0:
        _wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
    root.tk.createfilehandler(_wake_fd, READABLE, _woken)


def _apps() -> list[Any]:
    return [root.tk for known in _roots if (root := known()) is not None]


def _woken(file: int, mask: int) -> None:
    try:
        os.eventfd_read(_wake_fd)
    except OSError:
        pass
    if on_wake is not None:
        on_wake()


def step(until: float) -> bool:
    """Deals with events until there are none, or `until`; whether some are left."""
    apps = _apps()
    if not apps:
        return False
    app = apps[0]  # events are those of the thread: of all interpreters
    try:
        while app.dooneevent(DONT_WAIT):
            if _clock() > until:
                return True
    finally:
        # What a callback raised to end the loop is kept for the next mainloop(): not for that of
        # another execution.
        try:
            app.mainloop(NO_WINDOWS)
        except KeyboardInterrupt:
            raise
        except BaseException:
            pass
    return False


def refresh(until: float) -> None:
    turtle = getattr(_modules.get("turtle"), "Turtle", None)
    screen = getattr(turtle, "_screen", None)
    if screen is not None and not screen._tracing:
        screen.update()  # raises after bye()


def sync() -> None:
    """Until the server has done what it was asked: a question about the pointer is answered."""
    for app in _apps():
        try:
            app.call("winfo", "pointerx", ".")
        except FAILURES:  # it has no window any more
            pass


def ask_to_quit() -> None:
    """From another thread: the loop returns, once it is awake."""
    for app in _apps():
        app.quit()
    wake()


def wake() -> None:
    if _wake_fd >= 0:
        try:
            os.eventfd_write(_wake_fd, 1)
        except OSError:
            pass


def close_dialogs(frame: FrameType | None) -> None:
    """On the main thread, inside a loop: what a program waits for in a loop of its own happens."""
    while frame is not None:
        code, local = frame.f_code, frame.f_locals
        if code is _codes.get("wait_window") or code is _codes.get("wait_visibility"):
            (local.get("window") or local["self"]).destroy()
        elif code is _codes.get("wait_variable"):
            app, name = local["self"].tk, str(local["name"])
            app.setvar(name, app.getvar(name))
        elif code is _codes.get("show"):  # written in Tcl: as if it were cancelled
            for app in _apps():
                app.eval("foreach v {button selectFilePath selectColor} {set ::tk::Priv($v) {}}")
        frame = frame.f_back
