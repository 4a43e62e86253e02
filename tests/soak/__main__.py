# SPDX-License-Identifier: Apache-2.0
"""./dev soak: measures the server's guarantees under faults and load; docs/reliability.md.

It checks each guarantee once, with its figure. A mixed load follows for the given time, which must
neither slow down nor leave anything behind. Each uses a server of its own, on loopback.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "contract"), str(HERE.parent / "faults")]

from figures import Figure, document, table  # noqa: E402
from mixed import mixed_load  # noqa: E402
from promises import PROMISES, Size, no_crashes  # noqa: E402


def measured(name: str, measure: Callable[[], list[Figure]]) -> list[Figure]:
    """What could not be measured is missed, and the others go on."""
    began = time.monotonic()
    try:
        return measure()
    except Exception as error:
        traceback.print_exc()
        about = f"{type(error).__name__}: {error}".replace("\n", " ").replace("|", "/")[:300]
        return [Figure(name, "could not be measured", "to be measured", False, about)]
    finally:
        print(f"soak: {name} took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev soak", description=__doc__)
    parser.add_argument("minutes", nargs="?", type=float, default=5.0, help="of mixed load [5]")
    parser.add_argument("--quick", action="store_true", help="small counts")
    parser.add_argument("--only-facts", action="store_true", help="print times, do not check them")
    parser.add_argument("--only", metavar="WORD", help="only promises with this in their name")
    parser.add_argument("--skip", metavar="NAME", action="append", default=[], help="leave out")
    parser.add_argument("--document", type=Path, metavar="FILE", help="write the table there too")
    options = parser.parse_args()
    size = Size.small() if options.quick else Size.large()

    began = time.monotonic()
    figures: list[Figure] = []
    for name, promise in PROMISES.items():
        if (options.only and options.only not in name) or name in options.skip:
            continue
        print(f"soak: {name}", file=sys.stderr, flush=True)
        figures += measured(name, lambda promise=promise: promise(size))
    if options.minutes > 0 and not options.only:
        print(f"soak: mixed load for {options.minutes:g} min", file=sys.stderr, flush=True)
        figures += measured("mixed load", lambda: mixed_load(options.minutes * 60))
    figures += no_crashes(size)
    print(table(figures))
    print(f"{time.monotonic() - began:.0f} s")
    if options.document:
        options.document.write_text(document(figures, options))
    judged = [one for one in figures if not (one.is_time and options.only_facts)]
    return 0 if all(figure.is_met for figure in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
