# SPDX-License-Identifier: Apache-2.0
"""Open matplotlib figures become results, at plt.show() and at the end of an execution.

Matplotlib is never imported here: without `matplotlib._pylab_helpers` there is no open figure.
Figures in windows of a GUI toolkit are left alone.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from typing import Any

from .errors import FAILURES
from .pretty import pretty
from .results import Results
from .sealed import __builtins__  # noqa: F401

PAUSE = 0.5  # seconds between two pictures of a figure that plt.pause() shows again and again

_modules = sys.modules
_clock = time.monotonic


def png_of_figure(figure) -> bytes:
    """The figure as a notebook shows it: cut to what is drawn."""
    out = io.BytesIO()
    try:
        figure.savefig(out, format="png", bbox_inches="tight")
    except (ValueError, MemoryError):  # nothing drawn, or a box that cannot be computed
        out = io.BytesIO()
        figure.savefig(out, format="png")
    return out.getvalue()


class Figures:
    """Which figures the current execution has shown, and how."""

    __slots__ = ("_results", "_shown", "unfinished", "window")

    def __init__(self, results: Results) -> None:
        self._results = results
        self.unfinished = False  # an interrupt came before all figures were sent and closed
        self.window: Callable[[Any], None] | None = None  # shows a figure on the screen too
        self._shown: dict[int, tuple[str, float]] = {}  # id of figure -> display id, when

    def begin(self) -> None:
        if self._shown:
            self._shown = {}

    def returned(self, value: object) -> None:
        """`value` became the result itself: the end of the execution need not show it again."""
        figure = getattr(_modules.get("matplotlib.figure"), "Figure", None)
        if figure is not None and issubclass(type(value), figure):
            self._shown[id(value)] = ("", _clock())
            value.stale = False  # type: ignore[attr-defined]
            self._on_screen(value)

    def any_open(self) -> bool:
        helpers = _modules.get("matplotlib._pylab_helpers")
        if helpers is None:
            return False
        try:
            return bool(helpers.Gcf.figs)
        except FAILURES:
            return False

    def show(self, close: bool = True) -> None:
        """plt.show(): emits what is open, now. `close=False` for block=False and plt.pause()."""
        for manager in _managers():
            self.emit(manager.canvas.figure, again_after=0.0 if close else PAUSE)
            if close:
                _close(manager)

    def end(self) -> None:
        """The end of an execution: emits and closes, like a notebook."""
        self.unfinished = True
        self.show(close=True)
        self.unfinished = False

    def discard(self) -> None:
        """Closes without drawing: after an interrupt nobody waits for pictures."""
        self.unfinished = True
        for manager in _managers():
            _close(manager)
        self.unfinished = False

    def emit(self, figure, again_after: float = 0.0) -> None:
        shown = self._shown.get(id(figure))
        if shown is None:
            if not (figure.axes or figure.lines or figure.patches or figure.images or figure.texts):
                return  # plt.figure() and nothing drawn
            display_id, update = self._results.new_display_id(), False
        else:
            display_id, update = shown[0], True
            if not figure.stale or _clock() < shown[1] + again_after or not display_id:
                return
        try:
            bundle = {
                "text/plain": pretty(figure).encode("utf-8", "backslashreplace"),
                "image/png": png_of_figure(figure),
            }
        except FAILURES as error:
            self._failed(error)
            return
        figure.stale = False
        self._shown[id(figure)] = (display_id, _clock())
        self._results.send_bundle(bundle, {}, display_id, update)
        self._on_screen(figure)

    def _on_screen(self, figure) -> None:
        if self.window is None:
            return
        try:
            self.window(figure)
        except FAILURES as error:
            execution = self._results.current
            if execution is not None:
                execution.note(f"a figure has no window: {pretty(error)}")

    def _failed(self, error: BaseException) -> None:
        execution = self._results.current
        if execution is not None:
            execution.note(f"a figure could not be drawn: {pretty(error)}")


def _managers() -> list:
    helpers = _modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return []
    return [
        manager
        for manager in helpers.Gcf.get_all_fig_managers()
        if getattr(manager.canvas, "required_interactive_framework", None) is None
    ]


def _close(manager) -> None:
    helpers = _modules["matplotlib._pylab_helpers"]
    helpers.Gcf.destroy(manager)
