# SPDX-License-Identifier: Apache-2.0
import shutil
import tempfile
import unittest
from pathlib import Path

from builder.recipe import Host, parse_release, recipe_files, recipe_hash

IMAGE_DIR = Path(__file__).parents[1]
HOST = Host("debian-12", "amd64")


class Release(unittest.TestCase):
    def test_is_name_and_version(self) -> None:
        self.assertEqual(parse_release('NAME="x"\nID=ubuntu\nVERSION_ID="24.04"\n'), "ubuntu-24.04")

    def test_without_a_version_is_its_code_name(self) -> None:
        self.assertEqual(parse_release("ID=debian\nVERSION_CODENAME=forky\n"), "debian-forky")


class Recipe(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.image_dir = Path(scratch.name) / "image"
        shutil.copytree(IMAGE_DIR, self.image_dir)
        self.before = recipe_hash(self.image_dir, HOST)

    def test_does_not_depend_on_where_the_source_is(self) -> None:
        self.assertEqual(self.before, recipe_hash(IMAGE_DIR, HOST))

    def test_changes_with_each_file_that_determines_the_image(self) -> None:
        for path in recipe_files(self.image_dir):
            with self.subTest(path.name):
                original = path.read_bytes()
                path.write_bytes(original + b"\n")
                self.assertNotEqual(recipe_hash(self.image_dir, HOST), self.before)
                path.write_bytes(original)

    def test_changes_with_release_and_architecture(self) -> None:
        for other in (Host("debian-13", "amd64"), Host("debian-12", "arm64")):
            self.assertNotEqual(recipe_hash(self.image_dir, other), self.before)

    def test_ignores_tests_and_documents(self) -> None:
        (self.image_dir / "README.md").write_text("new words")
        (self.image_dir / "wheels.in").write_text("new wish")

        self.assertEqual(recipe_hash(self.image_dir, HOST), self.before)


if __name__ == "__main__":
    unittest.main()
