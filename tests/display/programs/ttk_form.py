# SPDX-License-Identifier: Apache-2.0
"""A form of ttk widgets in a class, with its loop behind `if __name__ == "__main__"`."""

# expect: 205,105=#ffe4b5 500,380=#ffe4b5 260,340=#4682b4
# note: the event loop was ended after the screenshot
import tkinter as tk
from tkinter import ttk


class Form(tk.Tk):
    def __init__(self) -> None:
        super().__init__()
        self.title("Form")
        self.geometry("320x300+200+100")
        style = ttk.Style(self)
        style.theme_use("clam")
        style.configure("TFrame", background="#ffe4b5")
        style.configure("TLabel", background="#ffe4b5")
        frame = ttk.Frame(self, padding=20)
        frame.place(x=0, y=0, width=320, height=300)
        self.name = tk.StringVar(value="Ada")
        ttk.Label(frame, text="Name").grid(row=0, column=0)
        ttk.Entry(frame, textvariable=self.name).grid(row=0, column=1)
        self.agreed = tk.BooleanVar(value=True)
        ttk.Checkbutton(frame, text="I agree", variable=self.agreed).grid(row=1, column=1)
        ttk.Button(frame, text="Send", command=self.send).grid(row=2, column=1)
        tk.Frame(self, bg="#4682b4").place(x=20, y=200, width=280, height=60)

    def send(self) -> None:
        print(self.name.get())


if __name__ == "__main__":
    Form().mainloop()
