# SPDX-License-Identifier: Apache-2.0
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from screen_client import Screen
from xvfb import Display


@pytest.fixture
def display() -> Iterator[Display]:
    made = Display()
    yield made
    made.close()


@pytest.fixture
def screen(display: Display) -> Iterator[Screen]:
    made = Screen(display)
    yield made
    made.close()
