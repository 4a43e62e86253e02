# SPDX-License-Identifier: Apache-2.0
"""A recording of a program while it runs: the bouncing balls, in a loop that never ends by itself.

Usage: python record_a_run.py [balls.gif|balls.mp4|balls.webm|balls.png [program.py]]
"""

from __future__ import annotations

import sys
from pathlib import Path

import vitrine

BALLS = Path(__file__).parent / "screen" / "ball_dataclass.py"


def main(film: Path, program: Path) -> None:
    with vitrine.local(), vitrine.Sandbox(display={"width": 600, "height": 420}) as box:
        with box.record(film, fps=10) as recording:
            # The screenshot is what ends the loop, three seconds after the first frame.
            shown = box.run(program.read_text(), capture_screenshot=True, display_time=3)
        print("outcome:", shown.outcome, "-", "; ".join(shown.notes))
        print(f"{recording.info.frames} frames in {recording.info.seconds:.1f} s")
        print(f"the film is in {film}, {film.stat().st_size // 1000} KB")


if __name__ == "__main__":
    main(
        Path(sys.argv[1] if len(sys.argv) > 1 else "balls.gif"),
        Path(sys.argv[2]) if len(sys.argv) > 2 else BALLS,
    )
