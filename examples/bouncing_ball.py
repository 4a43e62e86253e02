# SPDX-License-Identifier: Apache-2.0
"""A bouncing ball with @dataclass, which AST interpreters refuse (`Ball() takes no arguments`).

Usage: python bouncing_ball.py [plot.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import vitrine

PHYSICS = """
from dataclasses import dataclass, field

@dataclass
class Ball:
    x: float
    y: float
    vx: float = 1.5
    vy: float = 0.0
    trail: list[tuple[float, float]] = field(default_factory=list)

    def step(self, dt: float) -> None:
        self.vy -= 9.81 * dt
        self.x += self.vx * dt
        self.y += self.vy * dt
        if self.y < 0:
            self.y, self.vy = -self.y, -0.8 * self.vy
        self.trail.append((self.x, self.y))

ball = Ball(x=0.0, y=2.0)
for _ in range(300):
    ball.step(0.01)
y = [y for _, y in ball.trail]
bounces = sum(a > b < c for a, b, c in zip(y, y[1:], y[2:]))
print(f"{bounces} bounces, now at x={ball.x:.2f}")
bounces
"""

PLOT = """
import matplotlib.pyplot as plt
plt.plot(*zip(*ball.trail))
plt.title("a bouncing ball");
"""

WINDOW = """
import tkinter as tk
root = tk.Tk()
canvas = tk.Canvas(root, width=400, height=300, bg="white")
canvas.pack()
for x, y in ball.trail[::10]:
    canvas.create_oval(80 * x - 5, 290 - 100 * y, 80 * x + 5, 280 - 100 * y, fill="red")
"""


def main(picture: Path) -> None:
    with vitrine.local(), vitrine.Sandbox(name="bouncing ball") as box:
        physics = box.run(PHYSICS).check()
        print(physics.stdout, end="")
        assert physics.value >= 3

        plot = box.run(PLOT).check()
        picture.write_bytes(plot.images[0])
        print(f"the path is in {picture}")

        try:
            window = box.run(WINDOW, capture_screenshot=True)
        except vitrine.InvalidField as error:
            print(f"no window: {error.detail}")
        else:
            print("the window:", window.screenshot.size if window.screenshot else window.notes)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "ball.png"))
