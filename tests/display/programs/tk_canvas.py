# SPDX-License-Identifier: Apache-2.0
"""Shapes on a canvas; the code ends without a loop."""

# expect: 110,60=#ffffff 170,120=#ff0000 300,120=#008000 400,250=#0000ff
import tkinter as tk

root = tk.Tk()
root.title("Canvas")
root.geometry("400x300+100+50")
canvas = tk.Canvas(root, bg="#ffffff", width=400, height=300, highlightthickness=0)
canvas.pack()
canvas.create_rectangle(40, 40, 100, 100, fill="#ff0000", outline="")
canvas.create_oval(160, 30, 240, 110, fill="#008000", outline="")
canvas.create_polygon(300, 150, 360, 250, 240, 250, fill="#0000ff", outline="")
