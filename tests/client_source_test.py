# SPDX-License-Identifier: Apache-2.0
"""The synchronous half of the Python client is generated: clients/python/unasync.py."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "clients" / "python"))

import unasync  # noqa: E402


@pytest.mark.parametrize("source", unasync.FILES)
def test_a_generated_file_is_what_its_source_makes(source: str) -> None:
    target = unasync.PACKAGE / unasync.FILES[source]

    generated = unasync.generate(source)

    assert target.read_text(encoding="utf-8") == generated, "run clients/python/unasync.py"


@pytest.mark.parametrize("source", unasync.FILES)
def test_nothing_asynchronous_is_left(source: str) -> None:
    text = unasync.generate(source)

    for word in ("await", "async ", "asyncio", "Async", "aclos", "aiter", "aread", "__aenter__"):
        assert word not in text.replace(f"Generated from {source}", ""), word
