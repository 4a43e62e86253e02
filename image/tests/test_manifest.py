# SPDX-License-Identifier: Apache-2.0
import json
import os
import tempfile
import unittest
from pathlib import Path

from builder.manifest import FORMAT, KEY_FILES, SERVER_DIR, State, census, check
from builder.recipe import recipe_hash
from builder.release import Target

IMAGE_DIR = Path(__file__).parents[1]
TARGET = Target("bookworm", "amd64")
DIRECTORIES = ("proc", "dev/shm", "dev/pts", "tmp", "home/sandbox", "run", SERVER_DIR)


class Check(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.image = Path(scratch.name) / "image"
        self.root = self.image / "root"
        for name in KEY_FILES:
            path = self.root / name
            if name in DIRECTORIES:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(name)
        for path in [self.root, *self.root.rglob("*")]:
            path.chmod(0o755)
        self.write()

    def write(self, **changes: object) -> None:
        counted = census(self.root)
        manifest = {
            "format": FORMAT, "recipe": recipe_hash(IMAGE_DIR, TARGET), "release": TARGET.release,
            "architecture": TARGET.architecture, "python": "3.11.2", "built_at": "", "packages": {},
            "wheels": {}, "size_bytes": counted.size_bytes, "files": counted.files,
        }  # fmt: skip
        (self.image / "manifest.json").write_text(json.dumps(manifest | changes))

    def expect(self, state: State, reason: str) -> None:
        verdict = check(self.image, IMAGE_DIR, TARGET)
        self.assertEqual(verdict.state, state, verdict.reason)
        self.assertIn(reason, verdict.reason)

    def test_accepts_a_whole_image(self) -> None:
        self.expect(State.OK, "")

    def test_finds_nothing_where_nothing_is(self) -> None:
        self.image = self.image / "elsewhere"

        self.expect(State.MISSING, "no image at")

    def test_finds_a_missing_or_broken_manifest(self) -> None:
        for text in ("", "{", "[]", '{"format": 1}', "\xff"):
            with self.subTest(text):
                (self.image / "manifest.json").write_text(text, encoding="latin-1")
                self.expect(State.DAMAGED, "manifest.json")
        (self.image / "manifest.json").unlink()
        self.expect(State.DAMAGED, "manifest.json is missing")

    def test_names_a_missing_key_file(self) -> None:
        (self.root / "usr/bin/Xvfb").unlink()

        self.expect(State.DAMAGED, "/usr/bin/Xvfb is missing")

    def test_finds_a_truncated_file(self) -> None:
        (self.root / "etc/passwd").write_text("")

        self.expect(State.DAMAGED, "size_bytes")

    def test_finds_a_removed_file(self) -> None:
        (self.root / "etc/empty").write_text("")
        self.write()
        (self.root / "etc/empty").unlink()

        self.expect(State.DAMAGED, "files is")

    def test_finds_what_must_not_be_there(self) -> None:
        shell = self.root / "bin/bash"
        for mode in (0o4755, 0o2755, 0o777):
            with self.subTest(oct(mode)):
                shell.chmod(mode)
                self.expect(State.DAMAGED, "bin/bash")
        shell.chmod(0o755)
        os.mkfifo(self.root / "tmp/pipe")
        self.expect(State.DAMAGED, "tmp/pipe")

    def test_says_how_it_is_outdated(self) -> None:
        for changes, reason in (
            ({"recipe": "0" * 64}, "older than this source"),
            ({"release": "trixie"}, "made for release trixie, wanted is bookworm"),
            ({"architecture": "arm64"}, "architecture arm64"),
            ({"format": 0}, "format 0"),
        ):
            with self.subTest(reason):
                self.write(**changes)
                self.expect(State.OUTDATED, reason)

    def test_leaves_the_server_its_directory(self) -> None:
        (self.root / SERVER_DIR / "worker.py").write_text("pass")

        self.expect(State.OK, "")


class Census(unittest.TestCase):
    def test_counts_hard_links_once_in_size(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            (Path(root) / "a").write_text("12345")
            (Path(root) / "b").hardlink_to(Path(root) / "a")
            (Path(root) / "c").symlink_to("a")

            counted = census(Path(root))

        self.assertEqual((counted.files, counted.size_bytes), (3, 5))


if __name__ == "__main__":
    unittest.main()
