# SPDX-License-Identifier: Apache-2.0
"""A turtle that draws and waits for the end."""

# expect: 300,250=#ffa500 120,100=#fffff0
# note: the event loop was ended after the screenshot
import turtle

turtle.setup(400, 400, 100, 50)
turtle.bgcolor("#fffff0")
turtle.speed(0)
pen = turtle.Turtle()
pen.hideturtle()
pen.fillcolor("#ffa500")
pen.penup()
pen.goto(-80, -80)
pen.begin_fill()
for _ in range(4):
    pen.forward(160)
    pen.left(90)
pen.end_fill()
turtle.done()
