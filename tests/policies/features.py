# SPDX-License-Identifier: Apache-2.0
"""The features of the language that every policy is asked for, as small programs.

A program that works prints `yes` last. `not_in` names the policies that are known to refuse or fail;
the test holds every policy to it, so that the table in docs/policies.md cannot drift.
"""

from __future__ import annotations

from dataclasses import dataclass

NATIVE, RESTRICTED, SMOLAGENTS = POLICIES = ("native", "restricted", "smolagents")

# Named for smolagents, whose own list is short: the table is about the language.
IMPORTS = (
    "abc", "asyncio", "contextlib", "dataclasses", "enum", "functools", "io", "json", "matplotlib",
    "matplotlib.pyplot", "numpy", "operator", "pandas", "scipy", "sympy", "threading", "tkinter",
    "turtle", "typing", "xml", "xml.etree.ElementTree", "__future__",
)  # fmt: skip


def fields_of(policy: str) -> dict[str, object]:
    """What a session is created with to be asked for features."""
    imports = {"imports": list(IMPORTS)} if policy == SMOLAGENTS else {}
    return {"policy": policy, **imports}


@dataclass(frozen=True)
class Feature:
    group: str
    name: str
    code: str
    not_in: tuple[str, ...] = ()


def _feature(group: str, name: str, code: str, *not_in: str) -> Feature:
    return Feature(group, name, code.strip("\n"), not_in)


S, R = SMOLAGENTS, RESTRICTED

FEATURES = [
    _feature("basics", "arithmetic and strings", "x = 2 ** 10\nprint('yes' if x == 1024 and 'a' + 'b' == 'ab' else x)"),
    _feature("basics", "f-strings", "w = 8\nx = 3.14159\nprint('yes' if f'{x:>{w}.2f} {x!r}' == '    3.14 3.14159' else f'{x}')"),
    _feature("basics", "str.format with fields and items", "print('yes' if '{0[a]} {b:03d}'.format({'a': 1}, b=7) == '1 007' else 'no')"),
    _feature("basics", "str.format_map", "print('yes' if '{a}'.format_map({'a': 1}) == '1' else 'no')"),
    _feature("basics", "print with sep, end", "print('y', 'e', 's', sep='', end='\\n')", S),
    _feature("basics", "tuple unpacking, starred", "a, (b, *c) = 1, (2, 3, 4)\nprint('yes' if c == [3, 4] else c)", S),
    _feature("basics", "walrus", "if (n := len('abc')) == 3:\n    print('yes')", S),
    _feature("basics", "comprehensions of all kinds", "a = [i for i in range(4) if i % 2]\nb = {k: v for k, v in zip('ab', a)}\nc = {x for x in a}\nprint('yes' if b == {'a': 1, 'b': 3} and c == {1, 3} else b)"),
    _feature("basics", "slices, negative steps", "x = list(range(6))\nx[1:3] = [9]\nprint('yes' if x[::-1][0] == 5 and x[1] == 9 else x)"),
    _feature("basics", "conditional expressions, chained comparison", "print('yes' if 1 < 2 <= 2 else 'no')"),
    _feature("basics", "augmented assignment of names", "n = 1\nn += 2\nn **= 2\nprint('yes' if n == 9 else n)"),
    _feature("basics", "augmented assignment of items and attributes", "class A:\n    n = 0\na = A()\na.n += 2\nd = {'k': [1]}\nd['k'] += [2]\nd['k'][0] *= 5\nprint('yes' if a.n == 2 and d['k'] == [5, 2] else d)"),
    _feature("basics", "global and nonlocal", "def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n        return n\n    inner()\n    return inner()\nprint('yes' if outer() == 2 else 'no')", S),
    _feature("basics", "del of names, items, attributes", "d = {'a': 1, 'b': 2}\ndel d['a']\nx = 1\ndel x\nprint('yes' if d == {'b': 2} else d)"),
    _feature("basics", "assert", "assert 1 + 1 == 2, 'math'\nprint('yes')"),
    _feature("names", "if __name__ == '__main__'", "if __name__ == '__main__':\n    print('yes')"),
    _feature("names", "leading underscores of variables and functions", "_x = 1\ndef _helper(_y): return _x + _y\nprint('yes' if _helper(1) == 2 else 'no')"),
    _feature("names", "_private attributes and methods", "class A:\n    def __init__(self):\n        self._x = 1\n    def _get(self):\n        return self._x\nprint('yes' if A()._get() == 1 else 'no')"),
    _feature("names", "__mangled attributes", "class A:\n    def __init__(self):\n        self.__x = 1\n    def get(self):\n        return self.__x\nprint('yes' if A().get() == 1 else 'no')"),
    _feature("names", "annotations of variables", "x: int = 1\ny: list[int] = []\nprint('yes' if x == 1 else 'no')"),
    _feature("names", "annotations of functions, generics", "from typing import Optional, TypeVar, Generic\nT = TypeVar('T')\nclass Box(Generic[T]):\n    def __init__(self, v: T) -> None:\n        self.v: T = v\ndef f(x: Optional[int] = None) -> dict[str, int] | None:\n    return {'a': x}\nprint('yes' if Box[int](f(1)).v == {'a': 1} else 'no')", S),
    _feature("names", "from __future__ import annotations", "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass Node:\n    value: int\n    next: Node | None = None\nprint('yes' if Node(1, Node(2)).next.value == 2 else 'no')", S),
    _feature("functions", "defaults, keyword-only, positional-only", "def f(a, /, b=2, *, c=3):\n    return a + b + c\nprint('yes' if f(1, c=4) == 7 else 'no')", S),
    _feature("functions", "*args and **kwargs", "def f(*a, **k):\n    return sum(a) + sum(k.values())\nprint('yes' if f(*[1, 2], **{'x': 3}) == 6 else 'no')"),
    _feature("functions", "closures and lambda", "def adder(n):\n    return lambda x: x + n\nprint('yes' if adder(2)(3) == 5 else 'no')"),
    _feature("functions", "recursion", "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint('yes' if fib(12) == 144 else 'no')"),
    _feature("functions", "decorators", "def twice(f):\n    def inner(*a):\n        return 2 * f(*a)\n    return inner\n@twice\ndef one(): return 1\nprint('yes' if one() == 2 else 'no')", S),
    _feature("functions", "functools.wraps, lru_cache", "import functools\n@functools.lru_cache\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nprint('yes' if f(60) == 1548008755920 and f.cache_info().hits else 'no')", S),
    _feature("functions", "generators, yield from", "def g():\n    yield 1\n    yield from [2, 3]\nprint('yes' if list(g()) == [1, 2, 3] else 'no')", S),
    _feature("functions", "generator expressions are lazy", "seen = []\ng = (seen.append(i) or i for i in range(3))\nnext(g)\nprint('yes' if seen == [0] else seen)"),
    _feature("functions", "async functions, await at the top", "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5\nprint('yes' if await f() == 5 else 'no')", S),
    _feature("functions", "async for, async with, async comprehension", "class A:\n    async def __aenter__(self): return self\n    async def __aexit__(self, *e): pass\nasync def g():\n    yield 1\nasync def f():\n    async with A():\n        async for x in g():\n            return [y async for y in g()] == [x]\nprint('yes' if await f() else 'no')", S),
    _feature("functions", "asyncio.gather, TaskGroup", "import asyncio\nasync def f(x): return x\nasync def main():\n    async with asyncio.TaskGroup() as group:\n        t = group.create_task(f(1))\n    return await asyncio.gather(f(2), f(3)) + [t.result()]\nprint('yes' if await main() == [2, 3, 1] else 'no')", S),
    _feature("classes", "inheritance, super()", "class A:\n    def __init__(self, x): self.x = x\nclass B(A):\n    def __init__(self, x):\n        super().__init__(x + 1)\nprint('yes' if B(1).x == 2 else 'no')", S),
    _feature("classes", "__repr__, __str__", "class A:\n    def __repr__(self): return 'yes'\nprint(A())"),
    _feature("classes", "operators, comparison, hash", "class V:\n    def __init__(self, x): self.x = x\n    def __add__(self, o): return V(self.x + o.x)\n    def __eq__(self, o): return self.x == o.x\n    def __hash__(self): return hash(self.x)\n    def __lt__(self, o): return self.x < o.x\nprint('yes' if V(1) + V(2) == V(3) and sorted([V(2), V(1)])[0].x == 1 else 'no')"),
    _feature("classes", "containers: __len__, __getitem__, __iter__, __contains__", "class C:\n    def __len__(self): return 2\n    def __getitem__(self, i): return i\n    def __iter__(self): return iter([1])\n    def __contains__(self, x): return x == 9\nc = C()\nprint('yes' if len(c) == 2 and c[5] == 5 and list(c) == [1] and 9 in c else 'no')"),
    _feature("classes", "context managers", "class M:\n    def __enter__(self): return 'yes'\n    def __exit__(self, *e): return True\nwith M() as m:\n    print(m)"),
    _feature("classes", "contextlib.contextmanager", "from contextlib import contextmanager\n@contextmanager\ndef m():\n    yield 'yes'\nwith m() as x:\n    print(x)", S),
    _feature("classes", "property, classmethod, staticmethod", "class A:\n    _n = 1\n    @property\n    def n(self): return self._n\n    @n.setter\n    def n(self, v): self._n = v\n    @classmethod\n    def make(cls): return cls()\n    @staticmethod\n    def three(): return 3\na = A.make()\na.n = 5\nprint('yes' if a.n == 5 and A.three() == 3 else 'no')", S),
    _feature("classes", "@dataclass", "from dataclasses import dataclass, field\n@dataclass\nclass Ball:\n    x: float\n    y: float = 0.0\n    tags: list = field(default_factory=list)\n    def __post_init__(self):\n        self.x += 1\nb = Ball(1.0)\nprint('yes' if b == Ball(1.0) and b.x == 2.0 and 'Ball(x=2.0' in repr(b) else b)", S),
    _feature("classes", "frozen dataclass, slots, order", "from dataclasses import dataclass, replace, asdict\n@dataclass(frozen=True, order=True, slots=True)\nclass P:\n    x: int\n    y: int = 0\nprint('yes' if P(1) < P(2) and asdict(replace(P(1), y=5)) == {'x': 1, 'y': 5} else 'no')", S),
    _feature("classes", "Enum", "from enum import Enum, auto\nclass Color(Enum):\n    RED = auto()\n    BLUE = auto()\nprint('yes' if Color.BLUE.value == 2 and Color['RED'] is Color.RED and [c.name for c in Color] else 'no')"),
    _feature("classes", "NamedTuple, namedtuple, TypedDict", "from typing import NamedTuple, TypedDict\nfrom collections import namedtuple\nclass P(NamedTuple):\n    x: int\n    y: int = 2\nclass T(TypedDict):\n    a: int\nQ = namedtuple('Q', 'a b')\nprint('yes' if P(1)._asdict() == {'x': 1, 'y': 2} and Q(1, 2)._replace(a=5).a == 5 and T(a=1)['a'] == 1 else 'no')", S),
    _feature("classes", "abstract classes, protocols", "from abc import ABC, abstractmethod\nfrom typing import Protocol\nclass A(ABC):\n    @abstractmethod\n    def f(self): ...\nclass B(A):\n    def f(self): return 1\nclass P(Protocol):\n    def f(self) -> int: ...\ntry:\n    A()\nexcept TypeError:\n    print('yes' if B().f() == 1 else 'no')", S),
    _feature("classes", "metaclass, __init_subclass__, class keywords", "class Meta(type):\n    def __new__(m, name, bases, d, **k):\n        return super().__new__(m, name, bases, d, **k)\nclass A(metaclass=Meta):\n    seen = []\n    def __init_subclass__(cls, tag=None):\n        A.seen.append(tag)\nclass B(A, tag=3): pass\nprint('yes' if A.seen == [3] else A.seen)", S),
    _feature("classes", "descriptors, __getattr__, __setattr__", "class D:\n    def __get__(self, o, t=None): return 7\nclass A:\n    d = D()\n    def __getattr__(self, name): return name\n    def __setattr__(self, name, v):\n        super().__setattr__(name, v * 2)\na = A()\na.x = 4\nprint('yes' if a.d == 7 and a.hello == 'hello' and a.x == 8 else a.x)", S),
    _feature("classes", "type(self).__name__, self.__class__.__name__", "class A:\n    def who(self): return type(self).__name__ + self.__class__.__name__\nprint('yes' if A().who() == 'AA' else 'no')", S),
    _feature("classes", "self.__dict__, vars()", "class A: pass\na = A()\na.x = 1\na.__dict__.update(y=2)\nprint('yes' if vars(a) == {'x': 1, 'y': 2} else 'no')", S),
    _feature("control", "match/case: values, sequences, mappings", "def f(x):\n    match x:\n        case {'k': [a, *rest]} if a > 0: return a + len(rest)\n        case 'x' | 'y': return 'letter'\n        case _: return None\nprint('yes' if f({'k': [1, 2, 3]}) == 3 and f('y') == 'letter' else 'no')", S),
    _feature("control", "match/case: classes", "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\nmatch P(1, 2):\n    case P(x=1, y=z) if z == 2:\n        pass\nmatch P(1, 2):\n    case P(a, b):\n        print('yes' if b == 2 else 'no')", S),
    _feature("control", "try, except, else, finally", "log = []\ntry:\n    1 / 0\nexcept ZeroDivisionError as e:\n    log.append(type(e).__name__)\nelse:\n    log.append('else')\nfinally:\n    log.append('f')\nprint('yes' if log[-1] == 'f' and len(log) == 2 else log)", S),
    _feature("control", "raise from, custom exceptions", "class E(Exception):\n    def __init__(self, n):\n        super().__init__(n)\n        self.n = n\ntry:\n    try:\n        raise ValueError('a')\n    except ValueError as e:\n        raise E(3) from e\nexcept E as e:\n    print('yes' if e.n == 3 and isinstance(e.__cause__, ValueError) else 'no')", S),
    _feature("control", "except* and ExceptionGroup", "try:\n    raise ExceptionGroup('g', [ValueError(1), TypeError(2)])\nexcept* ValueError as e:\n    a = len(e.exceptions)\nexcept* TypeError:\n    pass\nprint('yes' if a == 1 else a)", S),
    _feature("control", "for-else, while-else, break, continue", "for i in range(3):\n    if i == 1:\n        continue\n    if i == 5:\n        break\nelse:\n    print('yes')", S),
    _feature("control", "with several managers", "import io\nwith io.StringIO() as a, io.StringIO() as b:\n    a.write('yes')\n    print(a.getvalue())"),
    _feature("helpers", "format_exc()", "try:\n    1 / 0\nexcept ZeroDivisionError:\n    print('yes' if 'ZeroDivisionError' in format_exc() else 'no')"),
    _feature("helpers", "safe_json_dumps()", "print('yes' if safe_json_dumps({'a': {1}}) else 'no')"),
    _feature("helpers", "getattr, setattr, hasattr on your objects", "class A: pass\na = A()\nsetattr(a, 'x', 1)\nprint('yes' if getattr(a, 'x') == 1 and hasattr(a, 'x') and getattr(a, 'y', 3) == 3 else 'no')"),
    _feature("helpers", "operator.attrgetter, itemgetter", "from operator import attrgetter, itemgetter\nclass A:\n    x = 1\nprint('yes' if attrgetter('x')(A()) == 1 and itemgetter(0)([5]) == 5 else 'no')"),
    _feature("helpers", "input()", "name = input()\nprint(name)", S),
    _feature("modules", "math, random, statistics, datetime, collections", "import math, random, statistics, datetime\nfrom collections import Counter, defaultdict, deque\nrandom.seed(1)\nprint('yes' if math.sqrt(4) == 2 and Counter('aab')['a'] == 2 and statistics.mean([1, 3]) == 2 and datetime.date(2020, 1, 1).year == 2020 else 'no')"),
    _feature("modules", "json, re, itertools", "import json, re, itertools\nprint('yes' if json.loads(json.dumps({'a': [1]}))['a'] == [1] and re.sub('a', 'b', 'aa') == 'bb' and list(itertools.chain([1], [2])) == [1, 2] else 'no')"),
    _feature("modules", "from module import *", "from math import *\nprint('yes' if sqrt(16) == 4 else 'no')"),
    _feature("modules", "import a.b as c, from a import b as c", "import xml.etree.ElementTree as ET\nfrom collections import abc as c\nprint('yes' if ET.fromstring('<a/>').tag == 'a' and c.Mapping else 'no')", S),
    _feature("modules", "numpy", "import numpy as np\na = np.arange(6).reshape(2, 3)\na[0, 1] += 5\nprint('yes' if a[:, 1].sum() == 10 and np.linalg.norm([3, 4]) == 5 else a)", S),
    _feature("modules", "pandas", "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3], 'b': list('xyx')})\ndf['c'] = df.a * 2\ng = df.groupby('b').agg({'c': 'sum'})\nprint('yes' if g.loc['x', 'c'] == 8 and len(df.query('a > 1')) == 2 else g)"),
    _feature("modules", "matplotlib", "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2], [3, 4])\nax.set_title('t')\nplt.show()\nprint('yes')"),
    _feature("modules", "sympy, scipy", "import sympy as sp\nfrom scipy import optimize\nx = sp.symbols('x')\nr = optimize.brentq(lambda v: v - 2, 0, 5)\nprint('yes' if sp.diff(x ** 2, x) == 2 * x and abs(r - 2) < 1e-6 else 'no')", S),
    _feature("modules", "tkinter and turtle can be imported", "import tkinter as tk\nfrom tkinter import ttk, messagebox\nimport turtle\nprint('yes' if tk.TkVersion > 8 else 'no')"),
    _feature("modules", "threads", "import threading\nout = []\nt = threading.Thread(target=out.append, args=(1,))\nt.start()\nt.join()\nwith threading.Lock():\n    print('yes' if out == [1] else 'no')"),
    _feature("closed", "open()", "with open('/tmp/x', 'w') as f:\n    f.write('a')\nprint('yes')", R, S),
    _feature("closed", "eval, exec, compile", "print('yes' if eval('1 + 1') == 2 else 'no')", R, S),
    _feature("closed", "import os, sys, subprocess", "import os, sys, subprocess\nprint('yes')", R, S),
    _feature("closed", "shell commands (!cmd) and magics", "!echo yes", R, S),
    _feature("closed", "globals(), locals()", "print('yes' if 'print' not in globals() else 'no')", R, S),
    _feature("closed", "x.__class__.__subclasses__()", "print('yes' if ().__class__.__base__.__subclasses__() else 'no')", R, S),
]  # fmt: skip
