# SPDX-License-Identifier: Apache-2.0
"""No source file holds two things: none is longer than 450 lines, tests included.

Needs nothing but the standard library: `python3 tests/file_size_test.py`, or pytest.
"""

import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 450
ENDINGS = {".c", ".cc", ".cpp", ".h", ".hpp", ".py", ".sh"}
SCRIPT = re.compile(rb"#!.*(sh|python3?)\b")  # a program without an ending


def is_source(file: Path) -> bool:
    if file.suffix:
        return file.suffix in ENDINGS
    with file.open("rb") as content:
        return SCRIPT.match(content.readline(200)) is not None


def too_long(root: Path) -> dict[str, int]:
    """The files of a tree that have too many lines, with how many; not what is built or hidden."""
    found = {}
    for directory, inner, names in os.walk(root):
        inner[:] = [one for one in inner if one != "build" and not one.startswith(".")]
        for file in (Path(directory, name) for name in names):
            if file.is_symlink() or not file.is_file() or not is_source(file):
                continue
            lines = file.read_bytes().count(b"\n")
            if lines > LIMIT:
                found[str(file.relative_to(root))] = lines
    return found


class FileSizes(unittest.TestCase):
    def test_no_source_file_is_longer_than_450_lines(self) -> None:
        self.assertEqual(too_long(ROOT), {})


class TheCheckItself(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="file-size-"))
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, name: str, first: str, lines: int) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(first + "\n" * lines)

    def test_finds_long_files_of_every_language(self) -> None:
        for name, first in [("a.cc", ""), ("b/c.h", ""), ("d.py", ""), ("e.sh", "")]:
            self.write(name, first, LIMIT + 1)
        self.write("dev", "#!/usr/bin/env bash", LIMIT + 1)
        self.write("tools/stage", "#!/usr/bin/python3", LIMIT + 1)

        names = {"a.cc", "b/c.h", "d.py", "e.sh", "dev", "tools/stage"}
        self.assertEqual(too_long(self.root), dict.fromkeys(names, LIMIT + 1))

    def test_passes_over_the_right_size_other_files_and_what_is_built(self) -> None:
        self.write("right.py", "", LIMIT)
        self.write("words", "a list", LIMIT + 1)
        self.write("page.md", "", LIMIT + 1)
        self.write("build/made.cc", "", LIMIT + 1)
        self.write(".cache/x.py", "", LIMIT + 1)

        self.assertEqual(too_long(self.root), {})


if __name__ == "__main__":
    unittest.main()
