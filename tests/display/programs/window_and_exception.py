# SPDX-License-Identifier: Apache-2.0
"""The window is there when the code fails."""

# expect: 200,150=#ff69b4
# outcome: exception
import tkinter as tk

root = tk.Tk()
root.geometry("300x200+100+50")
root.configure(bg="#ff69b4")
items = [1, 2, 3]
tk.Label(root, text=f"item {items[3]}").pack()
