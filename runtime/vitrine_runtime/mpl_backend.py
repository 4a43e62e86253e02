# SPDX-License-Identifier: Apache-2.0
"""The matplotlib backend of a session: Agg, with a plt.show() that sends pictures.

Selected by `MPLBACKEND=module://vitrine_runtime.mpl_backend`. In a process without a session
(a Python started by user code) it is plain Agg.
"""

from __future__ import annotations

from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

from . import worker


class FigureManager(FigureManagerBase):
    def show(self) -> None:  # figure.show()
        figures = worker.figures()
        if figures is not None:
            figures.emit(self.canvas.figure)

    @classmethod
    def pyplot_show(cls, *, block: bool | None = None) -> None:
        show(block=block)


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager


def show(*, block: bool | None = None) -> None:
    """plt.show(): returns at once. With block=False (and plt.pause) the figures stay open."""
    figures = worker.figures()
    if figures is not None:
        figures.show(close=block is not False)
