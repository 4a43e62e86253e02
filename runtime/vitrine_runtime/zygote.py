# SPDX-License-Identifier: Apache-2.0
"""What is imported and touched once, before any fork."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence

from . import plotting, seeding, worker
from .sealed import __builtins__  # noqa: F401

STDLIB = (
    "abc", "argparse", "array", "asyncio", "base64", "bisect", "calendar", "cmath", "collections",
    "concurrent.futures", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal",
    "enum", "fractions", "functools", "getpass", "glob", "hashlib", "heapq", "html", "inspect",
    "io", "itertools", "json", "logging", "math", "numbers", "operator", "os", "pathlib", "pickle",
    "platform", "pprint", "queue", "random", "re", "shutil", "signal", "statistics", "string",
    "struct", "subprocess", "tempfile", "textwrap", "threading", "time", "timeit", "tokenize",
    "traceback", "types", "typing", "unicodedata", "urllib.parse", "uuid", "warnings", "weakref",
    "zlib",
)  # fmt: skip
REHEARSALS = 20  # enough for the interpreter to specialise the code of the runtime
AFTER_COLLECTION = 5
LOADED = ("numpy", "pandas")
CLONE_THREAD = 0x10000


def warm(variant: str, modules: Sequence[str] = (), policy: str = "native") -> None:
    """Gets ready to fork workers: "bare", or "loaded" with numpy, pandas and pyplot; with
    `modules`, of the operator's environment; and with what `policy` needs.

    Makes no thread, socket, temporary file or generator of random numbers of its own.
    """
    if variant not in ("bare", "loaded"):
        raise ValueError(f"unknown zygote variant {variant!r}")
    for name in STDLIB + (LOADED if variant == "loaded" else ()):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:  # it is in the image, and damaged
                raise
    _load_policy()
    here = worker.session()  # before matplotlib: it selects the backend
    if variant == "loaded":
        plotting.preload(here.imports)
        _require_one_thread("numpy, pandas and matplotlib")
        _touch_frames()
    for name in modules:
        _preload(name)
    if policy == "smolagents":
        _preload("smolagents.local_python_executor")
        _preload("vitrine_runtime.policies.agents")
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules that a cell writes into its directory
    sys.argv = [""]
    _rehearse(REHEARSALS)
    gc.collect()
    # Again: what the collection freed lies scattered over the heap, and the first objects of a
    # child would each land on, and so copy, another page. Now they land where these did.
    _rehearse(AFTER_COLLECTION)
    gc.freeze()


def _preload(name: str) -> None:
    """A module of the operator's choice, or of a policy. One that cannot be imported is an error;
    so is one that starts threads: they would be missing after the fork, with all they locked."""
    importlib.import_module(name)
    _require_one_thread(name)


def _require_one_thread(name: str) -> None:
    import ctypes
    from errno import EINVAL

    # There is no /proc here. This does nothing, and only a process with one thread may ask for it.
    # Where a container forbids the call, nobody can tell.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_THREAD) != 0 and ctypes.get_errno() == EINVAL:
        raise RuntimeError(f"importing {name} starts threads: it cannot be preloaded")


def _load_policy() -> None:
    """The modules of the policy `restricted`: 1.4 MB, once for all sessions, and a session of that
    policy starts as fast as any other. smolagents is 32 MB, and has a zygote of its own."""
    try:
        importlib.import_module("vitrine_runtime.policies.restricted")
    except ModuleNotFoundError as error:
        if error.name != "RestrictedPython":
            raise


def _rehearse(times: int) -> None:
    for _ in range(times):
        worker.rehearse()
        seeding.touch()


def _touch_frames() -> None:
    """The first frame shown in a session should not be the first one ever formatted."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
        repr(frame)
        frame._repr_html_()
