# SPDX-License-Identifier: Apache-2.0
import os
import unittest
from pathlib import Path
from unittest import mock

from builder import release, wheels
from builder.progress import BuildError

IMAGE_DIR = Path(__file__).parents[1]


class ARelease(unittest.TestCase):
    def test_is_found_by_name_and_by_python(self) -> None:
        for name in ("trixie", "3.13"):
            self.assertEqual(release.find(name), release.Release("trixie", "3.13"))

    def test_is_that_of_the_environment_and_else_the_default(self) -> None:
        with mock.patch.dict(os.environ, {release.VARIABLE: "3.11"}):
            self.assertEqual(release.find("").name, "bookworm")
            self.assertEqual(release.find("trixie").name, "trixie")
        with mock.patch.dict(os.environ, {release.VARIABLE: ""}):
            self.assertEqual(release.find("").name, release.DEFAULT)

    def test_that_does_not_exist_is_refused_with_those_that_do(self) -> None:
        for name, kind in (("sid", "release sid"), ("3.12", "Python 3.12"), ("4", "Python 4")):
            with self.subTest(name), self.assertRaisesRegex(BuildError, kind) as caught:
                release.find(name)
            self.assertIn("trixie (Python 3.13)", caught.exception.remedy)

    def test_has_locked_wheels(self) -> None:
        lock = wheels.read_lock(IMAGE_DIR / "wheels.lock")

        for one in release.RELEASES:
            wheels.require_python(lock, one.python)


if __name__ == "__main__":
    unittest.main()
