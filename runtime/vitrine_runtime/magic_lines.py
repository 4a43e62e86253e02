# SPDX-License-Identifier: Apache-2.0
"""Line magics: `%name arguments`."""

from __future__ import annotations

import os
import shlex
import sys
import time
from typing import TYPE_CHECKING

from . import magic_cells
from .sealed import __builtins__  # noqa: F401

if TYPE_CHECKING:
    from .magics import Magics

INLINE = "module://vitrine_runtime.mpl_backend"


def accepted(magics: Magics, arguments: str) -> None:
    """Settings of other notebooks that mean nothing here."""
    magics.note("a magic that configures IPython was accepted and ignored")


def pwd(magics: Magics, arguments: str) -> str:
    return os.getcwd()


def cd(magics: Magics, arguments: str) -> None:
    target = arguments.strip().strip("\"'") or "~"
    if target == "-":
        if magics.previous_directory is None:
            raise FileNotFoundError("%cd -: no previous directory")
        target = magics.previous_directory
    try:
        previous = os.getcwd()
    except OSError:
        previous = None
    os.chdir(os.path.expanduser(target))
    magics.previous_directory = previous
    print(os.getcwd())


def ls(magics: Magics, arguments: str) -> None:
    magics.shell(f"ls {arguments}")


def cat(magics: Magics, arguments: str) -> None:
    magics.shell(f"cat {arguments}")


def mkdir(magics: Magics, arguments: str) -> None:
    magics.shell(f"mkdir {arguments}")


def env(magics: Magics, arguments: str) -> object:
    """%env, %env NAME, %env NAME=value, %env NAME value."""
    if not arguments:
        return dict(os.environ)
    name, equals, value = arguments.partition("=")
    if not equals:
        name, space, value = arguments.partition(" ")
        if not space:
            return os.environ.get(name)
    os.environ[name.strip()] = value.strip()
    print(f"env: {name.strip()}={value.strip()}")
    return None


def user_names(magics: Magics) -> list[str]:
    hidden = {"display", "__builtins__"}
    return sorted(n for n in magics.names if not n.startswith("_") and n not in hidden)


def who(magics: Magics, arguments: str) -> None:
    wanted = set(arguments.split())
    names = [
        name
        for name in user_names(magics)
        if not wanted or type(magics.names[name]).__name__ in wanted
    ]
    print("   ".join(names) if names else "Interactive namespace is empty.")


def reset(magics: Magics, arguments: str) -> None:
    """Forgets all names of the session; files, modules and processes stay."""
    for name in list(magics.names):
        if not (name.startswith("__") and name.endswith("__")):
            del magics.names[name]
    magics.namespace.forget()


def run(magics: Magics, arguments: str) -> None:
    """Runs a file in the session's namespace."""
    words = shlex.split(arguments)
    while words and words[0].startswith("-"):
        words.pop(0)
    if not words:
        raise SyntaxError("%run needs a file name")
    path = words[0] if os.path.exists(words[0]) else f"{words[0]}.py"
    with open(path, "rb") as file:
        code = compile(file.read(), os.path.abspath(path), "exec", 0, True)
    argv, names = sys.argv, magics.names
    had_file, old_file = "__file__" in names, names.get("__file__")
    try:
        sys.argv = [path, *words[1:]]
        names["__file__"] = path
        exec(code, names)
    finally:
        sys.argv = argv
        if had_file:
            names["__file__"] = old_file
        else:
            names.pop("__file__", None)


def matplotlib(magics: Magics, arguments: str) -> None:
    """%matplotlib inline is how a session works anyway; others select a backend."""
    name = arguments.strip() or "inline"
    if "matplotlib.pyplot" not in sys.modules and name in ("inline", "notebook", "widget"):
        return
    import matplotlib as library

    gui = {"tk": "TkAgg", "qt": "QtAgg", "qt5": "Qt5Agg", "gtk3": "GTK3Agg", "agg": "Agg"}
    library.use(INLINE if name in ("inline", "notebook", "widget") else gui.get(name, name))


def time_it_once(magics: Magics, arguments: str) -> object:
    return magic_cells.timed(lambda: magics.run_part(arguments, 0), time)


def timeit(magics: Magics, arguments: str) -> None:
    magic_cells.measure(magics, arguments, "pass")


def lsmagic(magics: Magics, arguments: str) -> None:
    from .magics import CELL, LINE, names_of

    print(f"line magics: {names_of(LINE, '%')}\ncell magics: {names_of(CELL, '%%')}")
    print("shell: !command, lines = !command")
