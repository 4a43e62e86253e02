# SPDX-License-Identifier: Apache-2.0
"""Two windows of two interpreters."""

# expect: 200,150=#7fffd4 600,450=#d2691e
import tkinter as tk

first, second = tk.Tk(), tk.Tk()
first.geometry("250x200+100+50")
second.geometry("250x200+500+350")
first.configure(bg="#7fffd4")
second.configure(bg="#d2691e")
