# SPDX-License-Identifier: Apache-2.0
import unittest
from pathlib import Path
from unittest import mock

from builder.assemble import python_of, require_release_python, require_space
from builder.closure import Package
from builder.progress import BuildError
from builder.release import Release


def package(name: str, version: str) -> Package:
    return Package(name, version, "amd64", "", 0)


class Preconditions(unittest.TestCase):
    def test_python_is_that_of_the_chosen_packages(self) -> None:
        chosen = [package("python3", "3.11.2-1+b1"), package("python3.11", "3.11.2-6+deb12u6")]

        self.assertEqual(python_of(chosen), ("3.11", "3.11.2"))

    def test_a_set_without_python_is_refused(self) -> None:
        with self.assertRaisesRegex(BuildError, "no python3"):
            python_of([package("bash", "5")])

    def test_another_python_than_the_releases_is_refused(self) -> None:
        require_release_python("3.13", Release("trixie", "3.13"))
        with self.assertRaisesRegex(BuildError, "trixie has Python 3.14, expected 3.13"):
            require_release_python("3.14", Release("trixie", "3.13"))

    def test_a_full_disk_is_named_before_anything_is_made(self) -> None:
        full = mock.patch("shutil.disk_usage", return_value=mock.Mock(free=5 << 20))
        with full, self.assertRaisesRegex(BuildError, "has 5 MiB free"):
            require_space(Path("/"))


if __name__ == "__main__":
    unittest.main()
