# SPDX-License-Identifier: Apache-2.0
"""A dialog above its window."""

# expect: 110,60=#202040 500,400=#202040 300,220=#f0e68c
import tkinter as tk

root = tk.Tk()
root.title("Main")
root.geometry("600x500+100+50")
root.configure(bg="#202040")
root.update()
dialog = tk.Toplevel(root, bg="#f0e68c")
dialog.title("Dialog")
dialog.geometry("200x120+250+150")
dialog.transient(root)
tk.Button(dialog, text="OK", command=dialog.destroy).pack(side="bottom")
dialog.lift()
