# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import screens
import sessions

MakeSession = Callable[..., sessions.Session]


@pytest.fixture
def make() -> Iterator[MakeSession]:
    """Makes sessions that end with the test."""
    made: list[sessions.Session] = []

    def make_session(*arguments: object, **options: object) -> sessions.Session:
        made.append(sessions.Session(*arguments, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make_session
    for session in made:
        session.close()


@pytest.fixture
def session(make: MakeSession) -> sessions.Session:
    """A bare session: the runtime and the standard library."""
    return make()


@pytest.fixture
def loaded(make: MakeSession) -> sessions.Session:
    """A session with numpy, pandas and pyplot imported before the fork."""
    if not sessions.has_scientific_stack():
        pytest.skip(f"{sessions.PYTHON} has no numpy, pandas, matplotlib, PIL")
    return make("loaded")


@pytest.fixture
def screen() -> Iterator[screens.Screen]:
    """An X server of the test's own."""
    made = screens.Screen()
    yield made
    made.close()


@pytest.fixture
def onscreen(make: MakeSession, screen: screens.Screen, tmp_path: Path) -> sessions.Session:
    """A bare session that sees the screen."""
    environment = {
        "DISPLAY": screen.display,
        "XAUTHORITY": screen.authority,
        "SDL_AUDIODRIVER": "dummy",
        "XCOMPOSEFILE": "/dev/null",
        "XDG_RUNTIME_DIR": str(tmp_path),
    }
    return make(env=environment)


def pytest_sessionfinish() -> None:
    sessions.close_zygotes()
