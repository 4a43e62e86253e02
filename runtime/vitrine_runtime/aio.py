# SPDX-License-Identifier: Apache-2.0
"""Top-level await: one event loop for the whole session, made by the first cell that needs it."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

from .cell import COROUTINE, Cell
from .sealed import __builtins__  # noqa: F401

if TYPE_CHECKING:
    import asyncio


class Loop:
    """The session's event loop. It runs only while a cell that awaits runs."""

    __slots__ = ("_loop", "_set_event_loop")

    def __init__(self) -> None:
        self._set_event_loop: Callable[[asyncio.AbstractEventLoop], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """Before a cell: asyncio.run() of an earlier one has unset the current loop."""
        if self._set_event_loop is not None and self._loop is not None:
            self._set_event_loop(self._loop)

    def run(self, cell: Cell, names: dict[str, Any]) -> object:
        import asyncio

        loop = self._loop
        if loop is None or loop.is_closed():
            loop = self._loop = asyncio.new_event_loop()
        self._set_event_loop = asyncio.set_event_loop
        self._set_event_loop(loop)
        task = loop.create_task(_drive(cell, names), name="cell")
        try:
            return loop.run_until_complete(task)
        except KeyboardInterrupt as interrupt:
            if task.done():
                raise
            where = _cancel(loop, task)
            raise interrupt from where
        finally:
            if not task.done():
                task.cancel()


async def _drive(cell: Cell, names: dict[str, Any]) -> object:
    if cell.body is not None:
        await _run(cell.body, names)
    if cell.last is not None:
        return await _run(cell.last, names)
    return None


async def _run(code: CodeType, names: dict[str, Any]) -> object:
    value = eval(code, names)
    if code.co_flags & COROUTINE:
        value = await value  # type: ignore[misc]
    return value


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Task[object]) -> BaseException | None:
    """Lets the interrupted cell run its finally blocks; returns what tells where it was."""
    from asyncio import CancelledError

    task.cancel()
    try:
        loop.run_until_complete(task)
    except CancelledError as cancelled:
        return cancelled
    except Exception as error:
        return error
    return None
