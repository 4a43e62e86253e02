# SPDX-License-Identifier: Apache-2.0
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from builder import wheels
from builder.progress import BuildError

IMAGE_DIR = Path(__file__).parents[1]

LOCK = """\
# SPDX-License-Identifier: Apache-2.0
# pythons: 3.11 3.12
numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:aa \\
    --hash=sha256:bb
numpy==2.5.4 ; python_full_version >= '3.12' \\
    --hash=sha256:cc
RestrictedPython==8.5 \\
    --hash=sha256:dd
"""


class TheLock(unittest.TestCase):
    def test_says_which_pythons_and_which_versions(self) -> None:
        lock = wheels.parse_lock(LOCK)

        self.assertEqual(lock.pythons, ("3.11", "3.12"))
        self.assertEqual(
            lock.pins, (("numpy", "2.4.6"), ("numpy", "2.5.4"), ("restrictedpython", "8.5"))
        )

    def test_is_refused_when_a_pin_has_no_hash(self) -> None:
        for damaged in (LOCK + "bare==1.0\n", LOCK.replace("    --hash=sha256:cc\n", "")):
            with self.subTest(damaged[-30:]), self.assertRaisesRegex(BuildError, "has no hash"):
                wheels.parse_lock(damaged)

    def test_is_refused_without_its_header(self) -> None:
        with self.assertRaisesRegex(BuildError, "damaged"):
            wheels.parse_lock(LOCK.replace("pythons:", "words:"))

    def test_of_another_python_is_an_error_with_a_remedy(self) -> None:
        with self.assertRaisesRegex(BuildError, "Python is 3.10.*covers 3.11, 3.12") as caught:
            wheels.require_python(wheels.parse_lock(LOCK), "3.10")

        self.assertIn("image/relock", caught.exception.remedy)

    def test_of_this_source_holds_every_wish_and_no_address(self) -> None:
        text = (IMAGE_DIR / "wheels.lock").read_text()
        pinned = {name for name, _ in wheels.parse_lock(text).pins}

        for line in (IMAGE_DIR / "wheels.in").read_text().splitlines():
            wish = re.match(r"[\w.-]+", line)
            if wish:
                self.assertIn(wish[0].lower().replace("_", "-"), pinned)
        self.assertNotIn("://", text)


class Uv(unittest.TestCase):
    def test_is_looked_for_beside_the_build_first(self) -> None:
        with tempfile.TemporaryDirectory() as repository:
            own = Path(repository) / "build/venv/bin/uv"
            own.parent.mkdir(parents=True)
            own.write_text("#!/bin/sh\n")
            own.chmod(0o755)

            self.assertEqual(wheels.find_uv(Path(repository)), str(own))

    def test_missing_is_an_error_with_a_remedy(self) -> None:
        nowhere = mock.patch.dict("os.environ", {"PATH": "/nowhere"})
        with nowhere, self.assertRaises(BuildError) as caught:
            wheels.find_uv(Path("/nowhere"))

        self.assertEqual(caught.exception.remedy, "run `./dev setup`")

    def test_may_neither_build_nor_skip_a_hash(self) -> None:
        command = wheels.install_command("uv", Path("lock"), Path("site"), "3.11")

        self.assertIn("--require-hashes", command)
        self.assertEqual(command[command.index("--only-binary") + 1], ":all:")
        self.assertEqual(command[command.index("--link-mode") + 1], "copy")


class Installed(unittest.TestCase):
    def test_names_come_from_the_metadata_directories(self) -> None:
        with tempfile.TemporaryDirectory() as site:
            (Path(site) / "scikit_learn-1.9.1.dist-info").mkdir()
            (Path(site) / "sklearn").mkdir()

            self.assertEqual(wheels.installed(Path(site)), {"scikit-learn": "1.9.1"})


if __name__ == "__main__":
    unittest.main()
