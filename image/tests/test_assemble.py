# SPDX-License-Identifier: Apache-2.0
import fcntl
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from builder.assemble import only_build_of, put_in_place, python_of, require_space, tidy
from builder.closure import Package
from builder.progress import BuildError


def package(name: str, version: str) -> Package:
    return Package(name, version, "amd64", "", 0)


class Place(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = Path(scratch.name) / "image"
        self.partial = Path(scratch.name) / "image.partial-7"
        self.partial.mkdir()
        (self.partial / "new").touch()

    def test_of_the_first_image_is_a_rename(self) -> None:
        put_in_place(self.partial, self.out)

        self.assertTrue((self.out / "new").exists())
        self.assertFalse(self.partial.exists())

    def test_of_an_old_image_is_taken_over(self) -> None:
        self.out.mkdir()
        (self.out / "old").touch()

        put_in_place(self.partial, self.out)

        self.assertEqual([path.name for path in self.out.parent.rglob("*")], ["image", "new"])

    def test_is_taken_over_where_names_cannot_be_exchanged(self) -> None:
        self.out.mkdir()
        with mock.patch("ctypes.CDLL") as libc:
            libc.return_value.renameat2.return_value = -1
            put_in_place(self.partial, self.out)

        self.assertEqual([path.name for path in self.out.parent.rglob("*")], ["image", "new"])

    def test_is_cleared_of_what_a_killed_build_left(self) -> None:
        with only_build_of(self.out):
            self.assertFalse(self.partial.exists())

    def test_is_tidied_only_while_nobody_builds(self) -> None:
        with open(f"{self.out}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tidy(self.out)
            self.assertTrue(self.partial.exists())

        tidy(self.out)
        self.assertFalse(self.partial.exists())


class Preconditions(unittest.TestCase):
    def test_python_is_that_of_the_chosen_packages(self) -> None:
        chosen = [package("python3", "3.11.2-1+b1"), package("python3.11", "3.11.2-6+deb12u6")]

        self.assertEqual(python_of(chosen), ("3.11", "3.11.2"))

    def test_a_set_without_python_is_refused(self) -> None:
        with self.assertRaisesRegex(BuildError, "no python3"):
            python_of([package("bash", "5")])

    def test_a_full_disk_is_named_before_anything_is_made(self) -> None:
        full = mock.patch("shutil.disk_usage", return_value=mock.Mock(free=5 << 20))
        with full, self.assertRaisesRegex(BuildError, "has 5 MiB free"):
            require_space(Path("/"))


if __name__ == "__main__":
    unittest.main()
