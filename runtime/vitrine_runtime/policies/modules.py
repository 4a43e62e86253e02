# SPDX-License-Identifier: Apache-2.0
"""The modules that code under `restricted` may import, and what is closed inside of them."""

from __future__ import annotations

from types import ModuleType

from ..sealed import __builtins__  # noqa: F401
from .violation import refuse

STDLIB = """
__future__ abc array asyncio base64 binascii bisect calendar cmath collections colorsys
concurrent.futures contextlib contextvars copy csv dataclasses datetime decimal difflib enum
fractions functools graphlib hashlib heapq hmac html io ipaddress itertools json keyword logging
math numbers operator pprint queue random re secrets statistics string struct textwrap threading
time traceback types typing unicodedata urllib.parse uuid warnings weakref xml.etree.ElementTree
zlib zoneinfo
"""
DATA = """
numpy pandas scipy sklearn statsmodels sympy networkx matplotlib mpl_toolkits pylab seaborn PIL
openpyxl bs4 yaml tabulate dateutil pytz tqdm rich pydantic typing_extensions IPython.display
"""
WINDOWS = "tkinter turtle pygame"

DEFAULT = frozenset((STDLIB + DATA + WINDOWS).split())

# Not even when `imports` names them: with these, nothing else of this policy would hold.
NEVER = frozenset(
    """
    builtins cffi ctypes _ctypes gc importlib inspect marshal mmap multiprocessing os pickle cPickle
    _pickle dill cloudpickle joblib pkgutil posix posixpath pty shelve signal site subprocess sys
    sysconfig zipimport _posixsubprocess _thread _frozen_importlib vitrine_runtime _vitrine
    RestrictedPython smolagents
    """.split()
)
# Nor these: they run text, a file or a command that is given to them, or what a text names, as
# native code. What to use instead.
_MEASURE = "time.perf_counter() before and after it measures code"
_TEST = "assert tells whether something holds"
_DEBUG = "print() and traceback.format_exc() show what happens"
_CELL = "code runs in a cell of its own"
_DOC = "help text is in __doc__"
_PACKAGES = "packages are asked for when the session is created"
_PROGRAMS = "no programs can be started"
RUNS_TEXT = {
    "timeit": _MEASURE, "cProfile": _MEASURE, "profile": _MEASURE, "trace": _MEASURE,
    "doctest": _TEST, "unittest": _TEST, "test": _TEST,
    "bdb": _DEBUG, "pdb": _DEBUG,
    "code": _CELL, "codeop": _CELL, "runpy": _CELL, "rlcompleter": _CELL, "idlelib": _CELL,
    "compileall": _CELL, "py_compile": _CELL, "imp": _CELL, "lib2to3": _CELL, "turtledemo": _CELL,
    "pydoc": _DOC, "pydoc_data": _DOC,
    "distutils": _PACKAGES, "ensurepip": _PACKAGES, "venv": _PACKAGES, "pip": _PACKAGES,
    "setuptools": _PACKAGES, "pkg_resources": _PACKAGES, "zipapp": _PACKAGES, "uv": _PACKAGES,
    "pipes": _PROGRAMS, "mailcap": _PROGRAMS, "webbrowser": _PROGRAMS, "antigravity": _PROGRAMS,
}  # fmt: skip
# Parts of allowed packages that hand out the rest of the world.
CLOSED = frozenset(
    """
    asyncio.subprocess numpy.f2py numpy.distutils numpy.ctypeslib numpy.testing numpy.lib.format
    pandas.io.pickle pandas.io.common matplotlib.testing matplotlib.sphinxext scipy._lib
    sympy.utilities.autowrap sympy.utilities.lambdify sympy.external sympy.testing
    sympy.plotting.experimental_lambdify concurrent.futures.process rich.traceback
    PIL.ImageMath logging.config yaml.loader yaml.constructor yaml.cyaml pydantic.v1 pydantic.plugin
    pydantic.mypy pydantic.deprecated patsy.eval tqdm.cli pygame.tests pygame.examples
    networkx.utils.backends
    """.split()
)
# Single names: what to do instead.
_TESTS = "assert, in code of your own"
CLOSED_NAMES: dict[str, dict[str, str]] = {
    "io": dict.fromkeys(("open", "open_code", "FileIO", "OpenWrapper"), "io.StringIO, io.BytesIO"),
    "types": dict.fromkeys(
        ("CodeType", "FunctionType", "LambdaType", "ModuleType", "FrameType", "TracebackType"),
        "types.SimpleNamespace, types.MappingProxyType",
    ),
    "string": {"Formatter": "str.format and f-strings"},
    "threading": dict.fromkeys(
        ("settrace", "setprofile", "gettrace", "getprofile"), "threading.Thread"
    ),
    "traceback": dict.fromkeys(("walk_stack", "walk_tb"), "traceback.format_exc()"),
    "yaml": dict.fromkeys(
        ("unsafe_load", "unsafe_load_all", "UnsafeLoader", "full_load", "full_load_all",
         "FullLoader", "Loader", "CLoader", "CUnsafeLoader", "load", "load_all"),
        "yaml.safe_load",
    ),
    "pandas": {"read_pickle": "pandas.read_csv, pandas.read_json", "test": _TESTS},
    "asyncio": dict.fromkeys(
        ("create_subprocess_exec", "create_subprocess_shell"), "coroutines and tasks"
    ),
    "concurrent.futures": {"ProcessPoolExecutor": "ThreadPoolExecutor"},
    "sympy": {
        "lambdify": "expr.subs(...) and expr.evalf()", "test": _TESTS, "doctest": _TESTS,
    },
    "typing": {"ForwardRef": "strings as annotations"},
    "pydantic": {"ImportString": "the objects themselves"},
    "pydantic.types": {"ImportString": "the objects themselves"},
    "PIL": {"ImageMath": "PIL.ImageChops, and numpy arrays"},
    "xml.sax": dict.fromkeys(
        ("make_parser", "default_parser_list"), "xml.sax.parse, xml.sax.parseString"
    ),
    "http.server": {"CGIHTTPRequestHandler": "http.server.BaseHTTPRequestHandler"},
}  # fmt: skip

_HINTS = {
    "os": "files are read with pandas, numpy or PIL; there is no environment to look at",
    "sys": "print() writes to stdout, raise SystemExit ends a cell",
    "subprocess": "no programs can be started",
    "pathlib": "files are read with pandas, numpy or PIL",
    "pickle": "json keeps data",
    "inspect": _DOC,
    **RUNS_TEXT,
}


def name_of(module: ModuleType) -> str:
    name = object.__getattribute__(module, "__dict__").get("__name__")
    return name if type(name) is str else ""


def is_never(root: str) -> bool:
    """Also what is private: the halves of these that are written in C, and their like."""
    private = root.startswith("_") and root != "__future__"
    return private or root in NEVER or root in RUNS_TEXT


class AllowList:
    """Decides about modules by their names; a package stands for everything below it."""

    __slots__ = ("_given", "_paths", "_known", "never")

    def __init__(self, imports: list[str]) -> None:
        roots = {name: name.partition(".")[0] for name in imports}
        self.never = sorted({name for name in imports if is_never(roots[name])})
        self._given = DEFAULT | {name for name in imports if not is_never(roots[name])}
        self._paths = {p for name in self._given for p in parents(name)}
        self._known: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        verdict = self._known.get(name)
        if verdict is None:
            verdict = self._known[name] = self._decide(name)
        return verdict

    def _decide(self, name: str) -> bool:
        if name in self._given:
            return True
        above = [name, *parents(name)]
        for part in above:
            if part in CLOSED or part.rpartition(".")[2].startswith("_"):
                return False
        return any(part in self._given for part in above)

    def names(self, path: str) -> bool:
        """Whether it is in the list itself."""
        return path in self._given

    def leads(self, name: str) -> bool:
        """Whether it is a package above an allowed module."""
        return name in self._paths

    def check_import(self, name: str) -> None:
        if name in self or self.leads(name):
            return
        root = name.partition(".")[0]
        hint = _HINTS.get(root, "")
        more = (
            "use the policy native for it"
            if is_never(root)
            else "name it in `imports` when the session is created, or use the policy native"
        )
        listed = ", ".join(sorted(self._given - {"__future__"}))
        parts = [part for part in (hint, more, f"allowed are {listed}") if part]
        refuse("import", f"the module {name!r} may not be imported", "; ".join(parts))

    def check_module(self, module: ModuleType) -> None:
        name = name_of(module)
        if name not in self and not self.leads(name):
            refuse(
                "module",
                f"the module {name!r} is not handed out",
                "import an allowed module by its own name instead",
            )

    def check_name(self, module: str, name: str) -> None:
        """A name of a module: neither closed nor private."""
        closed = CLOSED_NAMES.get(module)
        if closed is not None and name in closed:
            refuse("attribute", f"{module}.{name} is not allowed", f"allowed is {closed[name]}")


def parents(name: str) -> list[str]:
    """The packages above a module, nearest first."""
    found = []
    while "." in name:
        name = name.rpartition(".")[0]
        found.append(name)
    return found


def is_module(value: object) -> bool:
    return issubclass(type(value), ModuleType)
