# SPDX-License-Identifier: Apache-2.0
"""The peers: RestrictedPython and smolagents as they come, in one process with no jail and no HTTP.

Reads `PEER REPEAT CODE-AS-JSON` lines, answers with the milliseconds of each repetition as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable


def plain() -> Callable[[str], object]:
    names: dict[str, object] = {}

    def run(code: str) -> object:
        return exec(compile(code, "<cell>", "exec"), names)

    return run


def restrictedpython() -> Callable[[str], object]:
    from RestrictedPython import PrintCollector, compile_restricted_exec, safe_globals

    names: dict[str, object] = {
        **safe_globals,
        "_print_": PrintCollector,
        "_getattr_": getattr,
        "_getitem_": lambda obj, index: obj[index],
        "_getiter_": iter,
        "_write_": lambda obj: obj,
        "_inplacevar_": lambda op, x, y: x + y,
        "__metaclass__": type,
        "__name__": "cell",
    }

    def run(code: str) -> object:
        compiled = compile_restricted_exec(code)
        assert not compiled.errors, compiled.errors
        return exec(compiled.code, names)

    return run


def smolagents() -> Callable[[str], object]:
    from smolagents.local_python_executor import LocalPythonExecutor

    executor = LocalPythonExecutor([])
    executor.send_tools({})
    return executor


PEERS = {"plain": plain, "restrictedpython": restrictedpython, "smolagents": smolagents}


def main() -> None:
    made: dict[str, Callable[[str], object]] = {}
    for line in sys.stdin:
        peer, repeat, code = json.loads(line)
        if peer not in made:
            made[peer] = PEERS[peer]()
        run = made[peer]
        taken = []
        for _ in range(repeat):
            began = time.perf_counter()
            run(code)
            taken.append(1000 * (time.perf_counter() - began))
        print(json.dumps(taken), flush=True)


main()
