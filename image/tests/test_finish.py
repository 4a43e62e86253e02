# SPDX-License-Identifier: Apache-2.0
import marshal
import os
import sys
import tempfile
import unittest
from pathlib import Path

from builder import finish
from builder.progress import BuildError


class Finish(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name) / "root"
        self.site = self.root / "usr/local/lib/python3.11/dist-packages"
        self.site.mkdir(parents=True)

    def test_compiled_code_knows_its_place_inside_and_ignores_the_source(self) -> None:
        (self.site / "good.py").write_text("def f(): pass\n")
        (self.site / "bad.py").write_text("{{ template }} =\n")

        self.assertEqual(finish.compile_python(self.root, [sys.executable]), (1, 1))

        (compiled,) = self.site.glob("__pycache__/*.pyc")
        data = compiled.read_bytes()
        self.assertEqual(data[4:8], b"\x01\0\0\0")
        self.assertEqual(
            marshal.loads(data[16:]).co_filename,
            "/usr/local/lib/python3.11/dist-packages/good.py",
        )

    def test_modes_are_normal_afterwards(self) -> None:
        for name, mode in (("su", 0o4711), ("shared", 0o666), ("secret", 0o600)):
            (self.root / name).touch()
            (self.root / name).chmod(mode)
        self.site.chmod(0o2777)

        finish.normalise(self.root)

        modes = [oct(os.stat(self.root / name).st_mode) for name in ("su", "shared", "secret")]
        self.assertEqual(modes, ["0o100755", "0o100644", "0o100644"])
        self.assertEqual(oct(self.site.stat().st_mode), "0o40755")

    def test_a_special_file_is_refused(self) -> None:
        os.mkfifo(self.root / "pipe")

        with self.assertRaisesRegex(BuildError, "pipe is a special file"):
            finish.normalise(self.root)

    def test_documents_and_tests_go_but_licences_stay(self) -> None:
        documents = self.root / "usr/share/doc/bash"
        for path in (
            documents / "copyright",
            documents / "changelog.gz",
            documents / "examples/copyright",
            self.site / "numpy/tests/test_a.py",
            self.site / "numpy/testing/tests/test_b.py",
            self.site / "numpy/testing/utils.py",
            self.root / "usr/lib/python3.11/EXTERNALLY-MANAGED",
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

        self.assertEqual(finish.prune(self.root, self.site), 5)

        left = sorted(path.name for path in self.root.rglob("*") if path.is_file())
        self.assertEqual(left, ["copyright", "utils.py"])


if __name__ == "__main__":
    unittest.main()
