# SPDX-License-Identifier: Apache-2.0
"""A label that changes ten times a second."""

# expect: 110,60=#000080 380,180=#000080
# note: the event loop was ended after the screenshot
import tkinter as tk

root = tk.Tk()
root.geometry("300x150+100+50")
root.configure(bg="#000080")
label = tk.Label(root, text="0", fg="white", bg="#000080", font=("TkFixedFont", 40))
label.place(relx=0.5, rely=0.5, anchor="center")
count = 0


def tick() -> None:
    global count
    count += 1
    label.config(text=str(count))
    root.after(100, tick)


tick()
root.mainloop()
