# SPDX-License-Identifier: Apache-2.0
"""After any cell that returns, the next one works."""

from __future__ import annotations

import pytest
from sessions import Session

DEEDS = {
    "excepthook": "import sys\nsys.excepthook = None",
    "displayhook": "import sys\nsys.displayhook = lambda v: 1 / 0",
    "settrace": "import sys\ndef t(*a): raise ValueError('trace')\nsys.settrace(t)",
    "setprofile": "import sys\ndef p(*a): raise ValueError('profile')\nsys.setprofile(p)",
    "threading trace": "import threading\nthreading.setprofile(print)\nthreading.settrace(print)",
    "patched builtins": (
        "import builtins\n"
        "for n in ('open', 'print', 'compile', 'isinstance', 'len', 'repr', 'type', 'str', 'exec',\n"
        "          'eval', 'getattr', 'hasattr', 'dict', 'list', 'zip', 'map', 'range', 'id',\n"
        "          'issubclass', '__import__', 'BaseException', 'iter', 'sum', 'max', 'any'):\n"
        "    setattr(builtins, n, None)"
    ),
    "deleted builtins": "import builtins\ndel builtins.len, builtins.print, builtins.display",
    "cleared builtins": "import builtins\nbuiltins.__dict__.clear()",
    "own __builtins__": "__builtins__ = {}",
    "deleted __builtins__": "del __builtins__",
    "sys.path": "import sys\nsys.path = None",
    "sys.path cleared": "import sys\nsys.path.clear()",
    "sys.modules": "import sys\nsys.modules = {}",
    "sys.modules cleared of ours": (
        "import sys\nfor n in list(sys.modules):\n"
        "    if 'vitrine' in n or n in ('linecache', 'traceback', 'io', 'json', 'types'): del sys.modules[n]"
    ),
    "no __main__": "import sys\ndel sys.modules['__main__']",
    "other __main__": "import sys, types\nsys.modules['__main__'] = types.ModuleType('x')",
    "other __name__": "__name__ = 5",
    "globals cleared": "globals().clear()",
    "low recursion limit": (
        "import sys\nfor n in range(1, 200):\n    try:\n        sys.setrecursionlimit(n)\n        break\n"
        "    except RecursionError: pass"
    ),
    "gc": "import gc\ngc.disable()\ngc.set_threshold(1)",
    "gc debug": "import gc\ngc.set_debug(0)\ngc.callbacks.append(lambda *a: 1 / 0)",
    "deleted directory": "import os, tempfile\nd = tempfile.mkdtemp()\nos.chdir(d)\nos.rmdir(d)",
    "warnings": "import warnings\nwarnings.simplefilter('error')\nwarnings.showwarning = None",
    "SIGINT handler": "import signal\nsignal.signal(signal.SIGINT, lambda *a: 1 / 0)",
    "SIGINT ignored": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
    "all handlers": (
        "import signal\nfor s in signal.valid_signals():\n"
        "    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass"
    ),
    "locale": "import locale\ntry: locale.setlocale(locale.LC_ALL, '')\nexcept locale.Error: pass",
    "decimal": "import decimal\ndecimal.getcontext().prec = 1\ndecimal.getcontext().traps[decimal.Inexact] = True",
    "linecache": "import linecache\nlinecache.cache = None",
    "traceback": "import traceback\ntraceback.TracebackException = None\ntraceback.StackSummary = None",
    "io": "import io\nio.TextIOWrapper = None\nio.StringIO = None",
    "os": "import os\nfor n in ('write', 'fstat', 'dup2', 'open', 'getpid'): setattr(os, n, None)",
    "environ": "import os\nos.environ = None",
    "environ cleared": "import os\nos.environ.clear()",
    "json": "import json\njson.dumps = None",
    "meta_path": "import sys\nsys.meta_path.clear()",
    "path_hooks": "import sys\nsys.path_hooks.clear()\nsys.path_importer_cache.clear()",
    "switch interval": "import sys\nsys.setswitchinterval(100)",
    "unraisable": (
        "import sys\nsys.unraisablehook = None\nclass D:\n    def __del__(self): 1 / 0\nD()\nNone"
    ),
    "finalizer of a value": "class D:\n    def __del__(self): raise SystemExit(3)\nD()\nNone",
    "all file descriptors used": (
        "import os\nfds = []\ntry:\n    while len(fds) < 100000: fds.append(os.dup(0))\n"
        "except OSError: pass"
    ),
    "argv and such": "import sys\nsys.argv = None\nsys.executable = None\nsys.flags = None",
    "async hooks": "import sys\nsys.set_asyncgen_hooks(print, print)\nsys.set_coroutine_origin_tracking_depth(5)",
    "import hook": "import sys\nclass F:\n    def find_spec(*a): raise KeyError\nsys.meta_path.insert(0, F())",
    "stack of exit": "import atexit\natexit.register(lambda: 1 / 0)",
    "contextvars": "import contextvars\nv = contextvars.ContextVar('v')\nv.set(1)",
    "int digits": "import sys\ngetattr(sys, 'set_int_max_str_digits', print)(640)",
    "umask and limits": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    "faulthandler": "import faulthandler\nfaulthandler.enable()",
    "pending async exception": (
        "import ctypes, threading\nctypes.pythonapi.PyThreadState_SetAsyncExc(\n"
        "    ctypes.c_ulong(threading.main_thread().ident), ctypes.py_object(KeyError))"
    ),
}  # fmt: skip


@pytest.mark.parametrize("deed", DEEDS)
def test_the_next_cell_works(session: Session, deed: str) -> None:
    first = session.run(DEEDS[deed])
    second = session.run("x = 1 + 1\nx")
    third = session.run("1 / 0")
    fourth = session.run("'after'")

    assert first.outcome in ("ok", "exception")
    assert (second.outcome, second.value) == ("ok", "2"), (first, second)
    assert third.error is not None and third.error[0] == "ZeroDivisionError", third
    assert fourth.value == "'after'"


@pytest.mark.parametrize("deed", ["patched builtins", "cleared builtins", "io", "os", "json"])
def test_output_still_flows(session: Session, deed: str) -> None:
    session.run("p = print\nw = __import__('sys').stdout.write")
    session.run(DEEDS[deed])

    assert session.run("n = w('x\\n')").stdout == "x\n"


def test_trace_functions_do_not_see_the_runtime(session: Session) -> None:
    done = session.run(
        "import sys\nseen = set()\ndef trace(frame, event, arg):\n"
        "    seen.add(frame.f_code.co_filename)\n    return trace\n"
        "sys.settrace(trace)\nsys.setprofile(trace)\ndef f(): return 1\nf()"
    )

    assert done.value == "1" and "end with a cell" in done.notes[0]
    seen = session.run("{name for name in seen if 'vitrine_runtime' in name}").value
    assert "channel" not in str(seen) and "results" not in str(seen)


def test_a_trace_function_ends_with_its_cell(session: Session) -> None:
    session.run("import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)")

    assert session.run("(sys.gettrace(), sys.getprofile())").value == "(None, None)"


def test_cprofile(session: Session) -> None:
    done = session.run("import cProfile\ncProfile.run('sum(range(10))')")

    assert "function calls" in done.stdout


def test_a_raised_recursion_limit_is_kept(session: Session) -> None:
    session.run("import sys\nsys.setrecursionlimit(5000)")

    assert session.run("sys.getrecursionlimit()").value == "5000"
    assert session.run("def f(n): return 0 if n == 0 else 1 + f(n - 1)\nf(3000)").value == "3000"


def test_a_patched_builtin_is_the_users_own_choice(session: Session) -> None:
    session.run("import builtins\nbuiltins.answer = 42")

    assert session.run("answer").value == "42"


@pytest.mark.parametrize("interval", [0.0005, 0.01])
def test_alarms_that_outlive_their_cell(session: Session, interval: float) -> None:
    session.run(
        "import signal\nclass Late(Exception): pass\ndef ring(*a): raise Late\n"
        f"signal.signal(signal.SIGALRM, ring)\nsignal.setitimer(signal.ITIMER_REAL, {interval}, {interval})"
    )
    outcomes = [session.run("x = 1") for _ in range(200)]

    assert {done.outcome for done in outcomes} <= {"ok", "exception"}
    assert all(
        done.order[-1] == "finished" and done.order.count("finished") == 1 for done in outcomes
    )
    session.run("signal.setitimer(signal.ITIMER_REAL, 0)")
    session.run("signal.signal(signal.SIGALRM, signal.SIG_IGN)")
    assert session.run("1 + 1").value == "2"


def test_a_thread_that_keeps_interrupting_the_main_one(session: Session) -> None:
    session.run(
        "import _thread, threading, time\nstop = False\ndef pester():\n    while not stop:\n"
        "        _thread.interrupt_main()\n        time.sleep(0.0002)\nthreading.Thread(target=pester).start()"
    )
    outcomes = [session.run("x = 1") for _ in range(100)]

    assert all(done.order.count("finished") == 1 for done in outcomes)
    while session.run("stop = True").outcome != "ok":
        pass
    assert session.run("1 + 1").value == "2"
