# SPDX-License-Identifier: Apache-2.0
"""A form with tkinter: an order that is checked while it is typed."""

import tkinter as tk
from tkinter import ttk


class Order(tk.Tk):
    def __init__(self) -> None:
        super().__init__()
        self.title("Order")
        ttk.Style(self).theme_use("clam")
        self.customer = tk.StringVar(value="Ada Lovelace")
        self.tea = tk.StringVar(value="Darjeeling")
        self.grams = tk.IntVar(value=250)
        self.gift = tk.BooleanVar(value=True)
        self.total = tk.StringVar()
        form = ttk.Frame(self, padding=24)
        form.grid()
        self.row(form, 0, "Name", ttk.Entry(form, textvariable=self.customer, width=28))
        teas = ["Assam", "Darjeeling", "Sencha"]
        self.row(form, 1, "Tea", ttk.Combobox(form, textvariable=self.tea, values=teas, width=26))
        scale = ttk.Scale(form, from_=50, to=1000, variable=self.grams, length=230)
        scale.configure(command=lambda _: self.update_total())
        self.row(form, 2, "Amount", scale)
        gift = ttk.Checkbutton(form, text="wrap as a gift", variable=self.gift)
        gift.configure(command=self.update_total)
        self.row(form, 3, "", gift)
        ttk.Label(form, textvariable=self.total, font=(None, 16)).grid(row=4, columnspan=2, pady=14)
        ttk.Button(form, text="Order", command=self.order).grid(row=5, columnspan=2, sticky="ew")
        self.update_total()

    def row(self, form: ttk.Frame, row: int, name: str, widget: ttk.Widget) -> None:
        ttk.Label(form, text=name).grid(row=row, column=0, sticky="e", padx=(0, 12), pady=5)
        widget.grid(row=row, column=1, sticky="w")

    def update_total(self) -> None:
        price = self.grams.get() * 0.04 + (3 if self.gift.get() else 0)
        self.total.set(f"{self.grams.get()} g: {price:.2f} €")

    def order(self) -> None:
        print(f"{self.customer.get()} wants {self.tea.get()}, {self.total.get()}")


Order().mainloop()
