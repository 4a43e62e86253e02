# SPDX-License-Identifier: Apache-2.0
import shutil
import tempfile
import unittest
from pathlib import Path

from builder.recipe import recipe_files, recipe_hash
from builder.release import Target

IMAGE_DIR = Path(__file__).parents[1]
TARGET = Target("bookworm", "amd64")


class Recipe(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.image_dir = Path(scratch.name) / "image"
        shutil.copytree(IMAGE_DIR, self.image_dir)
        self.before = recipe_hash(self.image_dir, TARGET)

    def test_does_not_depend_on_where_the_source_is(self) -> None:
        self.assertEqual(self.before, recipe_hash(IMAGE_DIR, TARGET))

    def test_changes_with_each_file_that_determines_the_image(self) -> None:
        for path in recipe_files(self.image_dir):
            with self.subTest(path.name):
                original = path.read_bytes()
                path.write_bytes(original + b"\n")
                self.assertNotEqual(recipe_hash(self.image_dir, TARGET), self.before)
                path.write_bytes(original)

    def test_changes_with_release_and_architecture(self) -> None:
        for other in (Target("trixie", "amd64"), Target("bookworm", "arm64")):
            self.assertNotEqual(recipe_hash(self.image_dir, other), self.before)

    def test_ignores_tests_and_documents(self) -> None:
        (self.image_dir / "README.md").write_text("new words")
        (self.image_dir / "wheels.in").write_text("new wish")

        self.assertEqual(recipe_hash(self.image_dir, TARGET), self.before)


if __name__ == "__main__":
    unittest.main()
