# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import unittest
from pathlib import Path

from builder import skeleton
from builder.progress import BuildError


class Skeleton(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name) / "root"
        skeleton.before_packages(self.root, "amd64")
        for name in ("mawk", "dash", "which.debianutils", "less", "xz", "unxz", "xzcat", "python3"):
            (self.root / "usr/bin" / name).touch()
        certificates = self.root / "usr/share/ca-certificates/mozilla"
        certificates.mkdir(parents=True)
        (certificates / "b.crt").write_text("B")
        (certificates / "a.crt").write_text("A\n")
        (self.root / "etc/cron.daily").mkdir()
        (self.root / "etc/shadow").write_text("secret")
        skeleton.after_packages(self.root)

    def test_has_merged_usr(self) -> None:
        for name in ("bin", "sbin", "lib", "lib64"):
            self.assertEqual(os.readlink(self.root / name), f"usr/{name}")

    def test_has_mount_points_for_devices_that_are_no_devices(self) -> None:
        for name in ("null", "zero", "full", "random", "urandom"):
            device = self.root / "dev" / name
            self.assertTrue(device.is_file())
            self.assertEqual(device.stat().st_size, 0)
        self.assertEqual(os.readlink(self.root / "dev/ptmx"), "pts/ptmx")

    def test_has_no_sys_and_no_secrets(self) -> None:
        self.assertFalse((self.root / "sys").exists())
        self.assertFalse((self.root / "etc/shadow").exists())
        self.assertFalse((self.root / "etc/cron.daily").exists())

    def test_knows_the_sandbox_user(self) -> None:
        self.assertIn("sandbox:x:1000:1000:", (self.root / "etc/passwd").read_text())

    def test_makes_the_links_that_maintainer_scripts_would(self) -> None:
        self.assertEqual(os.readlink(self.root / "usr/bin/awk"), "mawk")
        self.assertEqual(os.readlink(self.root / "usr/bin/python"), "python3")

    def test_names_the_program_no_package_brought(self) -> None:
        (self.root / "usr/bin/awk").unlink()
        (self.root / "usr/bin/mawk").unlink()

        with self.assertRaisesRegex(BuildError, "awk"):
            skeleton.after_packages(self.root)

    def test_makes_one_trust_bundle(self) -> None:
        bundle = self.root / "etc/ssl/certs/ca-certificates.crt"

        self.assertEqual(bundle.read_text(), "A\nB\n")


if __name__ == "__main__":
    unittest.main()
