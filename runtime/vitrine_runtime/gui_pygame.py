# SPDX-License-Identifier: Apache-2.0
"""pygame: show what was drawn, end its loops."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from . import loops
from .errors import FAILURES
from .imports import ImportHooks
from .sealed import __builtins__  # noqa: F401

_modules = sys.modules


def install(imports: ImportHooks) -> None:
    imports.after("pygame.display", _hook_display)
    imports.after("pygame.event", _hook_event)


def _hook_display(module: ModuleType) -> None:
    module.flip = loops.counted(module.flip)  # type: ignore[attr-defined]
    module.update = loops.counted(module.update)  # type: ignore[attr-defined]


def _hook_event(module: ModuleType) -> None:
    for name in ("get", "poll", "pump"):
        setattr(module, name, loops.counted(getattr(module, name)))
    real = module.wait

    def wait(*arguments: Any, **options: Any) -> Any:
        return real(*arguments, **options)

    wait.__doc__ = real.__doc__
    module.wait = wait  # type: ignore[attr-defined]
    loops.blocks(wait)


def _pygame() -> Any:
    """The module, if it has a window."""
    pygame = _modules.get("pygame")
    try:
        if pygame is not None and pygame.display.get_init() and pygame.display.get_surface():
            return pygame
    except FAILURES:
        pass
    return None


def refresh(until: float) -> None:
    pygame = _pygame()
    if pygame is None:
        return
    pygame.event.pump()
    if not pygame.display.get_surface().get_flags() & pygame.OPENGL:
        pygame.display.flip()


def step(until: float) -> bool:
    pygame = _pygame()
    if pygame is not None:
        pygame.event.pump()
    return False


def ask_to_quit() -> bool:
    """From another thread. Whether a QUIT now waits to be seen."""
    pygame = _pygame()
    if pygame is None:
        return False
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    return True


def wake() -> None:
    """From another thread: event.wait() returns with an event that means nothing."""
    pygame = _pygame()
    if pygame is not None:
        global _nothing
        if not _nothing:
            _nothing = pygame.event.custom_type()
        pygame.event.post(pygame.event.Event(_nothing))


_nothing = 0


def forget_quit() -> None:
    """A QUIT that nobody looked at is not meant for the next execution."""
    pygame = _pygame()
    if pygame is not None:
        pygame.event.clear(pygame.QUIT)
