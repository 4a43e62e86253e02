# SPDX-License-Identifier: Apache-2.0
"""A screenshot of a GUI program while it runs. The program needs no change: its mainloop is ended
after the screenshot.

Usage: python screenshot_of.py [program.py [screenshot.png]]
"""

from __future__ import annotations

import sys
from pathlib import Path

import vitrine

CLOCK = """
import tkinter as tk

root = tk.Tk()
root.title("A clock")
label = tk.Label(root, text="0", font=("TkFixedFont", 60), width=6)
label.pack(padx=40, pady=40)

def tick(count=0):
    label.config(text=f"{count / 10:.1f}")
    root.after(100, tick, count + 1)

tick()
root.mainloop()
"""


def main(program: str, picture: Path) -> None:
    with vitrine.local(), vitrine.Sandbox(name="screenshot") as box:
        try:
            shown = box.run(program, capture_screenshot=True)
        except vitrine.InvalidField as error:
            print(f"no picture: {error.detail}")
            return
        for note in shown.notes:
            print("note:", note)
        print("outcome:", shown.outcome)
        if shown.screenshot_png is not None:
            picture.write_bytes(shown.screenshot_png)
            print(f"the picture is in {picture}")


if __name__ == "__main__":
    source = Path(sys.argv[1]).read_text() if len(sys.argv) > 1 else CLOCK
    main(source, Path(sys.argv[2] if len(sys.argv) > 2 else "screen.png"))
