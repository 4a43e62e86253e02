# SPDX-License-Identifier: Apache-2.0
import fcntl
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from builder.place import only_build_of, put_in_place, tidy


class Place(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.out = Path(scratch.name) / "image"
        self.partial = Path(scratch.name) / "image.partial-7"
        self.partial.mkdir()
        (self.partial / "new").touch()

    def everything(self) -> list[str]:
        return sorted(path.name for path in self.out.parent.rglob("*"))

    def test_of_the_first_image_is_a_rename(self) -> None:
        put_in_place(self.partial, self.out)

        self.assertTrue((self.out / "new").exists())
        self.assertFalse(self.partial.exists())

    def test_of_an_old_image_is_taken_over(self) -> None:
        self.out.mkdir()
        (self.out / "old").touch()

        put_in_place(self.partial, self.out)

        self.assertEqual(self.everything(), ["image", "new"])

    def test_is_taken_over_where_names_cannot_be_exchanged(self) -> None:
        self.out.mkdir()
        with mock.patch("ctypes.CDLL") as libc:
            libc.return_value.renameat2.return_value = -1
            put_in_place(self.partial, self.out)

        self.assertEqual(self.everything(), ["image", "new"])

    def test_of_an_image_in_use_is_left_until_it_is_free(self) -> None:
        self.out.mkdir()
        (self.out / "manifest.json").touch()
        with open(self.out / "manifest.json") as manifest:
            fcntl.flock(manifest, fcntl.LOCK_SH)
            put_in_place(self.partial, self.out)
            tidy(self.out)
            self.assertEqual(len(list(self.out.parent.glob("image.old-*"))), 1)

        tidy(self.out)
        self.assertEqual(list(self.out.parent.glob("image.old-*")), [])

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


if __name__ == "__main__":
    unittest.main()
