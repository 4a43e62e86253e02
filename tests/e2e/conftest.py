# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that start the program `vitrine`."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import Serving


@pytest.fixture
def directory() -> Iterator[Path]:
    """Not below pytest's own: as root the front must be able to pass."""
    path = Path(tempfile.mkdtemp(prefix="vitrine-cli-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    data = Path(tempfile.mkdtemp(prefix="vitrine-cli-"))
    serving = Serving("--data", str(data))
    assert re.fullmatch(r"vitrine: ready on http://127\.0\.0\.1:\d+\n", serving.line)
    yield serving.url
    assert serving.stop() == (0, b"")
    shutil.rmtree(data)
