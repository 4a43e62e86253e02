# SPDX-License-Identifier: Apache-2.0
"""What holds for every Python test of the repository."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "tests"))

import reachable

pytest_plugins = ["leftovers", "failed_tests"]
reachable.make_reachable()  # before the conftest.py of a folder reads where the programs are
