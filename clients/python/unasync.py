#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the synchronous half of the client from the asynchronous one, which is the source of both.

    build/venv/bin/python clients/python/unasync.py

tests/client_source_test.py fails when a generated file differs from what this would write. Needs
ruff beside the Python that runs it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "src" / "vitrine"

# asynchronous source -> generated file
FILES = {
    "async_transport.py": "sync_transport.py",
    "async_files.py": "files.py",
    "async_screen.py": "screen.py",
    "async_session.py": "session.py",
}

# Applied in this order, to code and docstrings alike.
RULES = [
    (r"await asyncio\.to_thread\(([\w.]+), ", r"\1("),
    (r"\bawait ", ""),
    (r"\basync (?=def |with |for )", ""),
    (r"\bAsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsync(?=[A-Z])", ""),  # AsyncFiles, AsyncIterator, httpx.AsyncClient, ...
    (r"\basync_transport\b", "sync_transport"),
    (r"\basync_(?=\w)", ""),  # async_files, async_pieces, ...
    (r"\brun_async\b", "run"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\ba(?=closing\b|iter_bytes\b|read\b|close\b)", ""),
    (r"\b__a(?=enter__|exit__)", "__"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"^import asyncio\n", ""),
]

# Sorts imports, and writes `yield from` and `list()` where only the asynchronous form needs a loop.
_SHORTER = ["check", "--fix-only", "--unsafe-fixes", "--select", "I,C416,UP028"]


def generate(name: str) -> str:
    """The text of the generated file for one asynchronous source."""
    text = (PACKAGE / name).read_text(encoding="utf-8")
    for pattern, by in RULES:
        text = re.sub(pattern, by, text, flags=re.MULTILINE)
    first, rest = text.split("\n", 1)
    text = f"{first}\n# Generated from {name} by clients/python/unasync.py: edit that one.\n{rest}"
    for arguments in (_SHORTER, ["format"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--quiet", "--stdin-filename"]
        done = subprocess.run(
            [*command, str(PACKAGE / FILES[name]), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout
    return text


def main() -> None:
    for source, target in FILES.items():
        (PACKAGE / target).write_text(generate(source), encoding="utf-8")


if __name__ == "__main__":
    main()
