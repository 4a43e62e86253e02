# SPDX-License-Identifier: Apache-2.0
"""Drag and drop through the input API: sorts cards into boxes with the mouse, as an agent would.

Usage: python drag_and_drop.py [before.png after.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import vitrine

BOARD = """
import tkinter as tk

root = tk.Tk()
root.title("Sort the cards")
root.geometry("600x420+20+20")
canvas = tk.Canvas(root, width=600, height=420, bg="#264653", highlightthickness=0)
canvas.pack()
boxes = {"fruit": (20, 200, 290, 400), "tools": (310, 200, 580, 400)}
for name, area in boxes.items():
    canvas.create_rectangle(*area, fill="#e9f5db", outline="")
    canvas.create_text(area[0] + 135, area[3] - 20, text=name, font=(None, 14))
cards, held = {}, {}

def card(text, x):
    tag = "card-" + text
    canvas.create_rectangle(x, 60, x + 120, 110, fill="#e9c46a", outline="white", width=2, tags=tag)
    canvas.create_text(x + 60, 85, text=text, font=(None, 14), tags=tag)
    cards[text] = tag
    canvas.tag_bind(tag, "<ButtonPress-1>", lambda event: take(tag, event))
    canvas.tag_bind(tag, "<B1-Motion>", move)

def take(tag, event):
    held.update(tag=tag, x=event.x, y=event.y)
    canvas.tag_raise(tag)

def move(event):
    canvas.move(held["tag"], event.x - held["x"], event.y - held["y"])
    held.update(x=event.x, y=event.y)

def sorted_cards():
    found = {}
    for text, tag in cards.items():
        x0, y0, x1, y1 = canvas.bbox(tag)
        inside = [n for n, (a, b, c, d) in boxes.items() if a < x0 and b < y0 and x1 < c and y1 < d]
        found[text] = inside[0] if inside else None
    return found

for n, text in enumerate(["apple", "hammer", "plum", "saw"]):
    card(text, 25 + n * 145)
root.update()
"""

# The window stands at 20,20; a card is taken in its middle.
WHERE = {"apple": (105, 105), "hammer": (250, 105), "plum": (395, 105), "saw": (540, 105)}
TO = {"apple": (175, 260), "hammer": (465, 260), "plum": (175, 340), "saw": (465, 340)}


def drag(name: str) -> dict[str, object]:
    (x, y), (to_x, to_y) = WHERE[name], TO[name]
    return {"type": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y, "steps": 12}


def main(before: Path, after: Path) -> None:
    with vitrine.local(), vitrine.Sandbox(display={"width": 640, "height": 460}) as box:
        box.run(BOARD).check()
        box.screenshot(wait_still=True).save(before)

        box.input(*(drag(name) for name in WHERE))
        found = box.run("root.update(); sorted_cards()").check().value
        box.screenshot(wait_still=True, cursor=True).save(after)

    print("sorted:", found)
    assert found == {"apple": "fruit", "hammer": "tools", "plum": "fruit", "saw": "tools"}


if __name__ == "__main__":
    files = sys.argv[1:3] if len(sys.argv) > 2 else ("before.png", "after.png")
    main(*map(Path, files))
