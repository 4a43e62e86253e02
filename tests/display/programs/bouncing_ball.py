# SPDX-License-Identifier: Apache-2.0
"""A dataclass moved by a timer in a mainloop: what AST interpreters and fixed waits cannot show."""

# expect: 105,55=#f0f8ff 300,340=#8b4513
# note: the event loop was ended after the screenshot
import tkinter as tk
from dataclasses import dataclass


@dataclass
class Ball:
    x: float
    y: float
    vx: float = 3.0
    vy: float = 0.0
    radius: float = 15.0

    def step(self, width: int, floor: int) -> None:
        self.vy += 0.6
        self.x += self.vx
        self.y += self.vy
        if not self.radius < self.x < width - self.radius:
            self.vx = -self.vx
        if self.y > floor - self.radius:
            self.y, self.vy = floor - self.radius, -0.9 * self.vy


root = tk.Tk()
root.title("Bouncing ball")
root.geometry("400x300+100+50")
canvas = tk.Canvas(root, width=400, height=300, bg="#f0f8ff", highlightthickness=0)
canvas.pack()
canvas.create_rectangle(0, 280, 400, 300, fill="#8b4513", outline="")
ball = Ball(60, 60)
drawn = canvas.create_oval(0, 0, 0, 0, fill="#ff0000", outline="")


def animate() -> None:
    ball.step(400, 280)
    r = ball.radius
    canvas.coords(drawn, ball.x - r, ball.y - r, ball.x + r, ball.y + r)
    root.after(16, animate)


animate()
root.mainloop()
print(ball.x > 0)
