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


@pytest.fixture(scope="session")
def scientific_stack() -> None:
    if not sessions.has_scientific_stack():
        pytest.skip(f"{sessions.PYTHON} has no numpy, pandas, matplotlib, PIL")


@pytest.fixture
def loaded(make: MakeSession, scientific_stack: None) -> sessions.Session:
    """A session with numpy, pandas and pyplot imported before the fork."""
    return make("loaded")


@pytest.fixture
def screen() -> Iterator[screens.Screen]:
    """An X server of the test's own."""
    made = screens.Screen()
    yield made
    made.close()


@pytest.fixture
def on_the_screen(screen: screens.Screen, tmp_path: Path) -> dict[str, str]:
    """Variables of a session that sees the screen."""
    return {
        "DISPLAY": screen.display,
        "XAUTHORITY": screen.authority,
        "SDL_AUDIODRIVER": "dummy",
        "XCOMPOSEFILE": "/dev/null",
        "XDG_RUNTIME_DIR": str(tmp_path),
    }


@pytest.fixture
def onscreen(make: MakeSession, on_the_screen: dict[str, str]) -> sessions.Session:
    """A bare session that sees the screen."""
    return make(env=on_the_screen)


@pytest.fixture
def plotting(
    make: MakeSession, on_the_screen: dict[str, str], scientific_stack: None
) -> sessions.Session:
    """A session that sees the screen and imported pyplot before the fork."""
    return make("loaded", env=on_the_screen)


def pytest_sessionfinish() -> None:
    sessions.close_zygotes()
