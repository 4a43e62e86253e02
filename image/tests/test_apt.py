# SPDX-License-Identifier: Apache-2.0
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from builder.apt import DAY, Apt, explain
from builder.progress import BuildError

UNKNOWN_KEY = """\
W: GPG error: http://m.example/debian trixie InRelease: The following signatures couldn't be verified \
because the public key is not available: NO_PUBKEY 6ED0E7B82643E131
E: The repository 'http://m.example/debian trixie InRelease' is not signed.
"""
NO_SUITE = (
    "E: The repository 'http://m.example/debian trixie Release' does not have a Release file.\n"
)
GONE = "E: Failed to fetch http://m.example/debian/pool/a.deb  404  Not Found [IP: 192.0.2.1 80]\n"
DOWN = "E: Failed to fetch http://m.example/debian/x  Could not connect to m.example:80\n"


class AFailure(unittest.TestCase):
    def test_is_explained_with_a_remedy(self) -> None:
        for complaint, what, remedy in (
            (UNKNOWN_KEY, "key that this host does not know", "debian-archive-keyring"),
            (NO_SUITE, "the mirror has no release trixie", "--mirror"),
            (GONE, "no longer has a package", "--force"),
            (DOWN, "Could not connect", "can be reached"),
        ):
            with self.subTest(what):
                error = explain("trixie", complaint)
                self.assertIn(what, str(error))
                self.assertIn(remedy, error.remedy)


class Lists(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.text = "deb http://m.example/debian trixie main\n"
        self.apt = Apt(Path(scratch.name), "trixie", lambda: self.text)
        run = mock.patch.object(self.apt, "run", return_value="")
        self.run_apt = run.start()
        self.addCleanup(run.stop)

    def grow_old(self, days: float) -> None:
        old = mock.patch("time.time", return_value=self.apt._updated.stat().st_mtime + days * DAY)
        old.start()
        self.addCleanup(old.stop)

    def test_are_fetched_once_a_day_and_on_demand(self) -> None:
        self.apt.refresh(now=False)
        self.apt.refresh(now=False)
        self.assertEqual(self.run_apt.call_count, 1)
        self.apt.refresh(now=True)
        self.assertEqual(self.run_apt.call_count, 2)
        self.grow_old(2)
        self.apt.refresh(now=False)
        self.assertEqual(self.run_apt.call_count, 3)

    def test_of_another_mirror_do_not_count(self) -> None:
        self.apt.refresh(now=False)
        self.text = "deb http://other.example/debian trixie main\n"

        self.apt.refresh(now=False)

        self.assertEqual(self.run_apt.call_count, 2)

    def test_that_are_old_do_without_a_mirror(self) -> None:
        self.apt.refresh(now=False)
        self.grow_old(3)
        self.run_apt.side_effect = explain("trixie", DOWN)

        self.assertIn("3 days ago", self.apt.refresh(now=False))
        with self.assertRaises(BuildError):
            self.apt.refresh(now=True)

    def test_are_required(self) -> None:
        self.run_apt.side_effect = explain("trixie", DOWN)

        with self.assertRaises(BuildError):
            self.apt.refresh(now=False)
        self.assertEqual(self.apt.age(), float("inf"))


if __name__ == "__main__":
    unittest.main()
