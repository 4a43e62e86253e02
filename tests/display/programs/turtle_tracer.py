# SPDX-License-Identifier: Apache-2.0
"""A turtle that nobody tells to update the screen."""

# expect: 300,250=#800080 120,100=#e0ffff
import turtle

turtle.setup(400, 400, 100, 50)
turtle.bgcolor("#e0ffff")
turtle.tracer(0)
turtle.hideturtle()
turtle.dot(120, "#800080")
