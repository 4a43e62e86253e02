# SPDX-License-Identifier: Apache-2.0
"""Puts the numbers of a run into docs/display-numbers.md: `./dev bench docs`. Nobody types them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Not by its name alone: this file is called the same.
sys.path.insert(0, str(ROOT / "bench"))

from server.publish import full_table, replace_between_markers  # noqa: E402

RUN = ROOT / "build/bench/display.json"
PAGE = ROOT / "docs/display-numbers.md"


def main() -> None:
    if not RUN.exists():
        sys.exit(f"{RUN} does not exist: ./dev bench display makes it")
    replace_between_markers(PAGE, full_table(json.loads(RUN.read_text())))
    print(f"written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
