#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows how far a compilation is: `ninja ... | progress.py NAME LOG`, with NINJA_STATUS
"[%f/%t %e] ". All output goes to LOG. On a terminal one line changes; elsewhere a line is written
from time to time."""

import re
import sys
import time
from pathlib import Path

STATUS = re.compile(r"\[(\d+)/(\d+) ([0-9.]+)\] ")
EVERY = {True: 0.2, False: 15.0}  # seconds between two lines, on a terminal and elsewhere


def in_words(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(5, round(seconds / 5) * 5)} s left"
    return f"about {round(seconds / 60)} min left"


def main(name: str, log: Path) -> None:
    terminal = sys.stderr.isatty()
    started = last = time.monotonic()
    done = total = 0
    with log.open("w") as copy:
        for line in sys.stdin:
            copy.write(line)
            found = STATUS.match(line)
            if found is None:
                continue
            done, total = int(found[1]), int(found[2])
            if time.monotonic() - last < EVERY[terminal]:
                continue
            last = time.monotonic()
            left = in_words(float(found[3]) / done * (total - done)) if done else ""
            text = f"  compiling {name} [{done}/{total}] {left}"
            print(f"\r{text}\033[K" if terminal else text, end="" if terminal else "\n",
                  file=sys.stderr, flush=True)  # fmt: skip
    end = "\r" if terminal else ""
    print(f"{end}  compiling {name} [{done}/{total}] took {time.monotonic() - started:.1f} s"
          f"{chr(27) + '[K' if terminal else ''}", file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
