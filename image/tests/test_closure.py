# SPDX-License-Identifier: Apache-2.0
import unittest
from pathlib import Path

from builder.closure import Package, PackageList, Wish, choose, parse_list, parse_package, reachable
from builder.progress import BuildError

PACKAGES_TXT = Path(__file__).parents[1] / "packages.txt"

STANZA = """\
Package: xvfb
Version: 2:21.1.7-3
Architecture: amd64
Pre-Depends: libc6 (>= 2.34)
Depends: libgl1, libssl3 (>= 3.0.0) | libssl1.1, python3:any,
 xkb-data
Provides: xserver, x-thing (= 3)
Size: 42
SHA256: abc
"""


def package(name: str, *depends: tuple[str, ...], provides: tuple[str, ...] = ()) -> Package:
    return Package(name, "1", "all", "hash", 1, depends=depends, provides=provides)


def solution(*packages: Package) -> dict[str, Package]:
    return {each.name: each for each in packages}


class TheList(unittest.TestCase):
    def test_has_plain_optional_alternative_and_excluded_names(self) -> None:
        listed = parse_list("# words\nbash  # why\n?maybe\nnew | old\n-libllvm*\n")

        self.assertEqual(
            listed.wishes, [Wish(("bash",)), Wish(("maybe",), True), Wish(("new", "old"))]
        )
        self.assertTrue(listed.excludes("libllvm15"))
        self.assertFalse(listed.excludes("bash"))

    def test_takes_the_first_name_the_release_has(self) -> None:
        wishes = [Wish(("new", "old")), Wish(("maybe",), optional=True)]

        self.assertEqual(choose(wishes, {"old"}), ["old"])

    def test_names_the_package_that_is_missing(self) -> None:
        with self.assertRaisesRegex(BuildError, "package new or old") as caught:
            choose([Wish(("new", "old"))], {"bash"})

        self.assertIn("image/packages.txt", caught.exception.remedy)

    def test_of_this_source_wants_nothing_it_excludes(self) -> None:
        listed = parse_list(PACKAGES_TXT.read_text())

        wanted = [name for wish in listed.wishes for name in wish.names]
        self.assertEqual([name for name in wanted if listed.excludes(name)], [])
        self.assertEqual(len(wanted), len(set(wanted)))


class AStanza(unittest.TestCase):
    def test_gives_clauses_without_versions_or_architectures(self) -> None:
        parsed = parse_package(STANZA)

        self.assertEqual(
            parsed.depends,
            (("libc6",), ("libgl1",), ("libssl3", "libssl1.1"), ("python3",), ("xkb-data",)),
        )
        self.assertEqual(parsed.provides, ("xserver", "x-thing"))

    def test_gives_the_file_name_that_apt_uses(self) -> None:
        self.assertEqual(parse_package(STANZA).deb, "xvfb_2%3a21.1.7-3_amd64.deb")


class Reachability(unittest.TestCase):
    def names(self, roots: list[str], packages: dict[str, Package], *excluded: str) -> list[str]:
        found = reachable(roots, packages, PackageList(excluded=list(excluded)))
        return [each.name for each in found]

    def test_follows_dependencies_and_is_sorted(self) -> None:
        packages = solution(package("z", ("a",)), package("a", ("z",)), package("other"))

        self.assertEqual(self.names(["z"], packages), ["a", "z"])

    def test_drops_an_excluded_package_and_what_only_it_needed(self) -> None:
        packages = solution(
            package("xvfb", ("libgl1",)),
            package("libgl1", ("mesa",), ("libc6",)),
            package("mesa", ("llvm",), ("libc6",)),
            package("llvm"),
            package("libc6"),
        )

        self.assertEqual(self.names(["xvfb"], packages, "mesa"), ["libc6", "libgl1", "xvfb"])

    def test_accepts_a_provider(self) -> None:
        packages = solution(package("a", ("virtual",)), package("real", provides=("virtual",)))

        self.assertEqual(self.names(["a"], packages), ["a", "real"])

    def test_refuses_a_dependency_without_an_answer(self) -> None:
        with self.assertRaisesRegex(BuildError, "package a needs b or c"):
            self.names(["a"], solution(package("a", ("b", "c"))))


if __name__ == "__main__":
    unittest.main()
