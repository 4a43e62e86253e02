# SPDX-License-Identifier: Apache-2.0
"""Figures that became results are also seen on the screen, if somebody looks at it.

They stay there until the next execution. The windows are our own and not a toolkit's: one more main
window of Tk would keep a mainloop() of user code from ending.
"""

from __future__ import annotations

import sys
from typing import Any

from .errors import FAILURES
from .sealed import __builtins__  # noqa: F401
from .xwindow import Screen, Window

CASCADE = 30  # pixels from one to the next
MOST = 32  # windows

_modules = sys.modules


class PlotWindows:
    def __init__(self) -> None:
        self._screen: Screen | None = None
        self._windows: dict[int, Window] = {}  # by the id of the figure

    def close(self) -> None:
        if self._screen is None:
            return
        self._screen.close()
        self._screen = None
        self._windows.clear()

    def show(self, figure: Any) -> None:
        """Raises OSError if there is no display, and whatever drawing raises."""
        pixels, width, height = _rendered(figure)
        known = self._windows.get(id(figure))
        if known is not None and (known.width, known.height) == (width, height):
            known.replace(pixels)
            return
        count = len(self._windows)
        if count >= MOST:
            return
        if self._screen is None:
            self._screen = Screen()
        screen = self._screen
        x = max(0, (screen.width - width) // 2) + count * CASCADE
        y = max(0, (screen.height - height) // 2) + count * CASCADE
        self._windows[id(figure)] = screen.window(_title(figure), x, y, width, height, pixels)


def _title(figure: Any) -> str:
    try:
        title = figure.canvas.manager.get_window_title()
    except FAILURES:
        title = None
    return title if type(title) is str else "Figure"


def _rendered(figure: Any) -> tuple[bytes, int, int]:
    """The whole figure as a window shows it, on white where it is transparent."""
    numpy = _modules["numpy"]
    canvas = figure.canvas
    if not hasattr(canvas, "buffer_rgba"):
        canvas = _modules["matplotlib.backends.backend_agg"].FigureCanvasAgg(figure)
    canvas.draw()
    rgba = numpy.asarray(canvas.buffer_rgba())
    height, width = rgba.shape[:2]
    out = numpy.empty((height, width, 4), numpy.uint8)
    alpha = rgba[..., 3:]
    if alpha.min() == 255:
        out[..., :3] = rgba[..., 2::-1]
    else:
        over = rgba[..., 2::-1].astype(numpy.uint16) * alpha + 255 * (
            255 - alpha.astype(numpy.uint16)
        )
        out[..., :3] = (over + 127) // 255
    out[..., 3] = 0
    figure.stale = False
    return out.tobytes(), width, height
