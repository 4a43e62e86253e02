# SPDX-License-Identifier: Apache-2.0
"""tkinter under `restricted`: text is no callback, and its Tcl starts no programs."""

from __future__ import annotations

import re
from typing import Any

from ..sealed import __builtins__  # noqa: F401
from .violation import refuse

# What register() returns, and what validation may add to it. No command of Tcl begins so.
_REGISTERED = re.compile(r"(\d+[\w<>]*( %[A-Za-z])*)?")
# The index of Tk's own files is read first: reading it takes `open`.
_CLOSE = """
catch {auto_load_index}
foreach name {exec open socket load} {catch {rename $name {}}}
catch {rename interp {}}
proc interp {args} {return 0}
"""


def check_callback(value: object) -> None:
    first = value[0] if isinstance(value, (tuple, list)) and value else value
    if isinstance(first, str) and not _REGISTERED.fullmatch(first):
        refuse("expression", "text as a callback is Tcl and is not allowed", "pass a function")


def close(tkinter: Any) -> None:
    misc, start = tkinter.Misc, tkinter.Tk.__init__
    options, bind = misc._options, misc._bind
    protocol, add = tkinter.Wm.wm_protocol, misc.option_add

    def started(self: Any, *arguments: Any, **fields: Any) -> None:
        start(self, *arguments, **fields)
        self.tk.eval(_CLOSE)

    def checked_options(self: Any, cnf: Any, kw: Any = None) -> Any:
        for some in (cnf, kw):
            for one in some if isinstance(some, (tuple, list)) else (some,):
                for key, value in one.items() if isinstance(one, dict) else ():
                    if str(key).strip("-_").lower().endswith(("command", "cmd")):
                        check_callback(value)
        return options(self, cnf, kw)

    def checked_bind(self: Any, what: Any, sequence: Any, func: Any, *rest: Any) -> Any:
        check_callback(func)
        return bind(self, what, sequence, func, *rest)

    def checked_protocol(self: Any, name: Any = None, func: Any = None) -> Any:
        check_callback(func)
        return protocol(self, name, func)

    def checked_add(self: Any, pattern: Any, value: Any, priority: Any = None) -> None:
        if re.search("command|cmd", str(pattern), re.IGNORECASE):
            check_callback(value)
        add(self, pattern, value, priority)

    tkinter.Tk.__init__ = started
    tkinter.Tk.readprofile = lambda *arguments: None  # it runs files of the home directory
    misc._options, misc._bind, misc.option_add = checked_options, checked_bind, checked_add
    tkinter.Wm.wm_protocol = tkinter.Wm.protocol = checked_protocol


def close_ttk(ttk: Any) -> None:
    """A column's heading does not go through the options of other widgets."""
    heading = ttk.Treeview.heading

    def checked_heading(self: Any, column: Any, option: Any = None, **kw: Any) -> Any:
        check_callback(kw.get("command"))
        return heading(self, column, option, **kw)

    ttk.Treeview.heading = checked_heading
