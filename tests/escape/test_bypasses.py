# SPDX-License-Identifier: Apache-2.0
"""Language policies under attack: the known ways out of a Python that is guarded from inside end as
the policy says, and whoever is out all the same stands before the same wall as everybody."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest
from escape_server import Attack, EscapeServer, attacks, note, told

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "policies"))

from escapes import ESCAPES

# The corpus's ways, each by the programs that the policies' own tests keep.
WAYS: dict[str, tuple[str, ...]] = {
    "Y01 all classes": ("subclasses of object", "mro of a string", "vars of type"),
    "Y02 the importer of builtins": ("__loader__", "import posix", "import importlib"),
    "Y03 modules behind modules": ("random._os", "warnings.sys", "typing.sys", "json.codecs"),
    "Y04 from a traceback to globals": ("traceback frame", "traceback.walk_stack"),
    "Y05 frames of generators": ("generator frame", "coroutine frame", "async generator frame"),
    "Y06 code in fresh globals": ("exec", "eval", "eval under another name", "compile"),
    "Y07 the guards' own globals": ("globals of a function", "closure of a guard"),
    "Y08 attributes by format": ("format to a module", "format to a class", "string.Formatter"),
    "Y11 machine code": ("import ctypes", "memory by an interface"),
    "Y12 objects of the collector": ("import gc",),
    "Y13 patterns and except*": ("in except*", "class pattern frame", "__match_args__"),
}
OURS = {
    "Y09 files of the licence": ("license._Printer__filenames", "copyright._Printer__setup()"),
    "Y10 its own memory": ("open('/proc/self/mem', 'r+b')", "io = __import__('io')"),
    "Y14 traces of the runtime": ("import sys\nsys.settrace(print)", "import threading\nthreading.settrace.__globals__"),
    "Y15 another runtime": ("import vitrine_runtime.worker", "import __main__"),
}  # fmt: skip
CODES = {
    **{way: tuple(ESCAPES[name] for name in names) for way, names in WAYS.items()},
    **OURS,
}
# `restricted` refuses each by name. smolagents says its own: what is no part of its Python fails.
EXPECTED = {"restricted": {"policy"}, "smolagents": {"policy", "exception"}}
# Where it is otherwise: there is no licence to ask, and smolagents lets formats read attributes.
OTHERWISE = {
    ("restricted", "Y09"): {"exception"},
    ("smolagents", "Y08"): {"policy", "ok"},
}
# Out of each guard, by a module that its session named: a template's expressions are guarded by nobody.
LEFT = {
    "restricted": """
import jinja2
exec_ = "cycler.__init__.__globals__['__builtins__']['exec']"
jinja2.Template("{{{{ " + exec_ + "(text, {{'__name__': '__main__'}}) }}}}").render(text={code!r})
""",
    "smolagents": "import timeit\ntimeit.timeit({stmt!r}, number=1)\n",
}


@pytest.mark.parametrize("way", CODES)
@pytest.mark.parametrize("policy", EXPECTED)
@pytest.mark.parametrize("place", ["session", "recycled"])
def test_a_known_way_out_is_refused(
    escape_server: EscapeServer, place: str, policy: str, way: str
) -> None:
    number, _, title = way.partition(" ")

    expected = OTHERWISE.get((policy, number), EXPECTED[policy])

    seen = [escape_server.run_in(place, code, policy)["outcome"] for code in CODES[way]]

    note(number, f"{title}, {policy}", " ".join(sorted(expected)), seen, escape_server.mode)
    assert set(seen) <= expected, list(zip(CODES[way], seen, strict=True))
    escape_server.is_neighbour_well()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs x86-64: numbers of calls")
@pytest.mark.parametrize("attack", attacks(), ids=lambda one: one.path.stem)
@pytest.mark.parametrize("policy", EXPECTED)
def test_the_wall_holds_from_inside_a_bypass(
    escape_server: EscapeServer, policy: str, attack: Attack
) -> None:
    if escape_server.mode == "unprivileged" and "only root" in attack.options:
        pytest.skip("needs root: the limit is a cgroup's")
    stmt = f"exec({attack.code!r}, {{'__name__': '__main__'}})"
    code = LEFT[policy].format(code=attack.code, stmt=stmt)

    seen = told(escape_server.run_in("session", code, policy, timeout_s=60))

    attack.judge(seen, f"{escape_server.mode} {policy}")
    escape_server.is_neighbour_well()


def test_after_all_the_server_is_as_before(escape_server: EscapeServer) -> None:
    escape_server.is_as_before()
