# SPDX-License-Identifier: Apache-2.0
"""A rosette, drawn by a turtle."""

import colorsys
import turtle

turtle.setup(520, 440)
turtle.title("Rosette")
turtle.bgcolor("#14213d")
turtle.speed(0)
turtle.pensize(2)
turtle.hideturtle()
turtle.tracer(4)
for n in range(36):
    turtle.pencolor(colorsys.hsv_to_rgb(n / 36, 0.7, 1))
    turtle.circle(95)
    turtle.left(10)
turtle.penup()
turtle.goto(0, -10)
turtle.dot(70, "#14213d")
turtle.pencolor("white")
turtle.goto(0, -24)
turtle.write("36", align="center", font=("DejaVu Sans", 18, "bold"))
turtle.done()
