# SPDX-License-Identifier: Apache-2.0
"""Parts that need no session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sessions import HERE, PYTHON

PRELUDE = f"""
import sys
sys.path[:0] = [{str(HERE.parent)!r}, {str(HERE)!r}]
from types import ModuleType
native = ModuleType('_vitrine')
for name in ('receive', 'send_result', 'send_error', 'send_note', 'send_finished',
             'send_input_request', 'send_package_request', 'executing'):
    setattr(native, name, lambda *a: None)
native.is_worker = lambda: True
sys.modules['_vitrine'] = native
"""


def python(code: str, **environment: str) -> str:
    """What a fresh interpreter prints on stderr."""
    done = subprocess.run(
        [PYTHON, "-c", PRELUDE + code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_worker_whose_peer_is_gone_exits() -> None:
    python(
        "def gone(): raise EOFError\nnative.receive = gone\nfrom vitrine_runtime import worker\nworker.main()"
    )


def test_a_worker_whose_socket_fails_exits() -> None:
    python(
        "def bad(): raise OSError\nnative.receive = bad\nfrom vitrine_runtime import worker\nworker.main()"
    )


def test_warming_up_leaves_nothing_open(tmp_path: Path) -> None:
    report = python(
        "import json, os\nfrom vitrine_runtime import zygote\nbefore = os.listdir('/proc/self/fd')\n"
        "zygote.warm('bare')\nafter = os.listdir('/proc/self/fd')\n"
        "print(json.dumps([before == after, len(os.listdir('/proc/self/task')),\n"
        "    os.listdir(os.environ['TMPDIR'])]), file=sys.stderr)",
        TMPDIR=str(tmp_path),
    )

    assert json.loads(report) == [True, 1, []]


def test_an_unknown_variant_is_refused() -> None:
    report = python(
        "from vitrine_runtime import zygote\ntry:\n    zygote.warm('fat')\n"
        "except ValueError as e:\n    print(e, file=sys.stderr)"
    )

    assert "unknown zygote variant 'fat'" in report


def modules() -> list[Path]:
    found = sorted((HERE.parent / "vitrine_runtime").rglob("*.py"))
    assert len(found) > 20
    return found


def test_every_module_seals_its_builtins() -> None:
    free = {"__init__.py", "sealed.py", "boot.py", "mpl_backend.py"}
    for file in modules():
        if file.name not in free:
            assert ".sealed import __builtins__" in file.read_text(), file.name


def test_files_stay_small_and_named() -> None:
    for file in modules():
        text = file.read_text()
        assert text.startswith("# SPDX-License-Identifier: Apache-2.0\n"), file.name
        assert text.count("\n") < 300, file.name


def test_the_font_list_is_copied_before_matplotlib_is_imported(tmp_path: Path) -> None:
    fonts, home = tmp_path / "fonts", tmp_path / "home"
    fonts.mkdir()
    (fonts / "fontlist-v1.json").write_text("{}")
    (tmp_path / "matplotlib.py").write_text(
        "import os\nthere = os.listdir(os.environ['XDG_CACHE_HOME'] + '/matplotlib')\nrcParams = {}"
    )
    report = python(
        f"from vitrine_runtime import plotting, worker\nplotting.FONTS = {str(fonts)!r}\n"
        f"worker.session()\nsys.path.insert(0, {str(tmp_path)!r})\nimport matplotlib\n"
        "print(matplotlib.there, matplotlib.rcParams, file=sys.stderr)",
        XDG_CACHE_HOME=str(home),
        MPLBACKEND="module://vitrine_runtime.mpl_backend",
        MPLCONFIGDIR="",
    )

    assert report == "['fontlist-v1.json'] {'backend': 'module://vitrine_runtime.mpl_backend'}\n"


def test_display_of_a_real_ipython_is_ours(tmp_path: Path) -> None:
    core = tmp_path / "IPython" / "core"
    core.mkdir(parents=True)
    (tmp_path / "IPython" / "__init__.py").write_text("")
    (core / "__init__.py").write_text("")
    (core / "display_functions.py").write_text("def display(*a): print('printed')")
    (tmp_path / "IPython" / "display.py").write_text(
        "from IPython.core.display_functions import display"
    )
    report = python(
        "from vitrine_runtime import worker\nhere = worker.session()\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\nfrom IPython.display import display\n"
        "print(display is here.display, file=sys.stderr)"
    )

    assert report == "True\n"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_cost_of_a_trivial_cell() -> None:
    """The promise is 25 us; the machine that runs tests may be busy, so this only catches growth."""
    output = subprocess.check_output(
        [PYTHON, str(HERE / "bench_execution.py"), "bare"], text=True, timeout=120
    )
    name, least, _ = output.splitlines()[0].split()

    assert name == "1+1" and float(least) < 60


def test_a_short_expression_compiles_to_the_same_without_a_tree() -> None:
    python("""
from vitrine_runtime.cell import build, expression, parse
for code in ("1+1", "f(x)[0]", "(await x)", "'a' 'b' ", "print()  # said", "None"):
    direct = expression(code, "<cell 1>", 0)
    built = build(parse(code, "<cell 1>", 0), code, "<cell 1>", 0)
    assert direct.last == built.last, code
    assert (direct.body, direct.in_loop) == (built.body, built.in_loop), code
    assert list(direct.last.co_positions()) == list(built.last.co_positions()), code
""")


def test_what_is_no_short_expression_is_left_to_the_parser() -> None:
    python("""
from vitrine_runtime.cell import expression
for code in ("", "x = 1", "1;", "del x", "1\\n2", " 1", "x?", "%who", "1 +", "a b", "1+" * 100 + "1"):
    assert expression(code, "<cell 1>", 0) is None, code
""")
