# SPDX-License-Identifier: Apache-2.0
"""Balls that are dataclasses bounce in a tkinter window. Interpreters that walk the syntax tree
fail with `Ball() takes no arguments`."""

import tkinter as tk
from dataclasses import dataclass, field

WIDTH, HEIGHT, FLOOR = 560, 380, 350


@dataclass
class Ball:
    x: float
    y: float
    colour: str
    radius: float = 18.0
    vx: float = 3.2
    vy: float = 0.0
    trail: list[tuple[float, float]] = field(default_factory=list)

    def step(self) -> None:
        self.vy += 0.5
        self.x += self.vx
        self.y += self.vy
        if not self.radius < self.x < WIDTH - self.radius:
            self.vx = -self.vx
        if self.y > FLOOR - self.radius:
            self.y, self.vy = FLOOR - self.radius, -0.88 * self.vy
        self.trail = [*self.trail[-24:], (self.x, self.y)]


def draw(canvas: tk.Canvas, balls: list[Ball]) -> None:
    canvas.delete("moving")
    for ball in balls:
        for age, (x, y) in enumerate(ball.trail):
            size = age / 6
            canvas.create_oval(
                x - size, y - size, x + size, y + size, fill=ball.colour, outline="", tags="moving"
            )
        x, y, r = ball.x, ball.y, ball.radius
        canvas.create_oval(x - r, y - r, x + r, y + r, fill=ball.colour, width=2, tags="moving")


def tick() -> None:
    for ball in balls:
        ball.step()
    draw(canvas, balls)
    root.after(16, tick)


root = tk.Tk()
root.title("Bouncing balls")
canvas = tk.Canvas(root, width=WIDTH, height=HEIGHT, bg="#f0f8ff", highlightthickness=0)
canvas.pack()
canvas.create_rectangle(0, FLOOR, WIDTH, HEIGHT, fill="#8b4513", outline="")
balls = [Ball(60, 60, "#e63946"), Ball(200, 120, "#2a9d8f", vx=-2), Ball(320, 30, "#f4a261", 26)]
tick()
root.mainloop()
