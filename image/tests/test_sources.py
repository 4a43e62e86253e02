# SPDX-License-Identifier: Apache-2.0
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from builder import sources
from builder.progress import BuildError
from builder.sources import Entry, Mirror

STANZAS = """\
Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Types: deb-src
URIs: http://source.example/debian
Suites: bookworm

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
"""
LINES = """\
# deb http://off.example/debian bookworm main
deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/debian bookworm main contrib
deb-src http://source.example/debian bookworm main
deb http://mirror.example/debian-security bookworm-security main
"""
WANTED = Mirror("http://mirror.example/debian", "http://mirror.example/debian-security")


class OfTheHost(unittest.TestCase):
    def test_both_formats_are_read(self) -> None:
        for entries in (sources.parse_deb822(STANZAS), sources.parse_list(LINES)):
            self.assertEqual(sources.choose(entries, "bookworm"), WANTED)

    def test_files_are_told_apart_by_their_names(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "sources.list.d"
            folder.mkdir()
            (folder / "debian.sources").write_text(STANZAS)
            (folder / "debian.sources.bak").write_text(STANZAS.replace("mirror.", "old."))

            entries = sources.of_host(Path(scratch))

        self.assertEqual({entry.uri for entry in entries}, {WANTED.main, WANTED.security})

    def test_other_vendors_are_not_asked(self) -> None:
        entries = [Entry("http://vendor.example/apt", ("stable", "vendor-bookworm"))]

        self.assertIsNone(sources.choose(entries, "bookworm"))

    def test_without_security_updates_is_without_them(self) -> None:
        entries = [Entry("http://mirror.example/debian/", ("bookworm",))]

        self.assertEqual(
            sources.choose(entries, "bookworm"), Mirror("http://mirror.example/debian/", "")
        )

    def test_only_a_debian_has_a_suite_of_debian(self) -> None:
        self.assertEqual(sources.code_name('ID=debian\nVERSION_CODENAME="trixie"\n'), "trixie")
        self.assertEqual(sources.code_name("ID=ubuntu\nVERSION_CODENAME=noble\n"), "")

    def test_a_host_without_a_mirror_has_to_name_one(self) -> None:
        with (
            mock.patch.dict("os.environ", {sources.MIRROR_VARIABLE: ""}),
            mock.patch.object(sources, "OS_RELEASE", Path("/nonexistent")),
            self.assertRaisesRegex(BuildError, "name no Debian mirror") as caught,
        ):
            sources.find_mirror()

        self.assertIn("--mirror", caught.exception.remedy)


class Named(unittest.TestCase):
    def test_a_mirror_has_its_security_updates_beside_it(self) -> None:
        self.assertEqual(sources.find_mirror(f"{WANTED.main}/"), WANTED)

    def test_what_is_no_address_is_refused(self) -> None:
        for text in ("mirror", "http://", "http://a b", "http://a [x]"):
            with self.subTest(text), self.assertRaises(BuildError):
                sources.find_mirror(text)

    def test_a_missing_keyring_is_refused(self) -> None:
        with self.assertRaisesRegex(BuildError, "no keyring /nonexistent") as caught:
            sources.find_keyring("/nonexistent")

        self.assertIn("debian-archive-keyring", caught.exception.remedy)


class TheText(unittest.TestCase):
    def test_names_the_suites_of_the_release_and_its_key(self) -> None:
        lines = sources.write(WANTED, Path("/k.gpg"), "trixie").splitlines()

        self.assertEqual(
            [line.split("] ")[1] for line in lines],
            [
                "http://mirror.example/debian trixie main",
                "http://mirror.example/debian trixie-updates main",
                "http://mirror.example/debian-security trixie-security main",
            ],
        )
        self.assertTrue(all("signed-by=/k.gpg" in line for line in lines))


if __name__ == "__main__":
    unittest.main()
