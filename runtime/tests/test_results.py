# SPDX-License-Identifier: Apache-2.0
"""MIME bundles, text of values, display(), and the byte limit."""

from __future__ import annotations

import json

import pytest
from sessions import Session

PIXEL = (
    "import base64\npixel = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlE"
    "QVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')\n"
)


def test_rich_forms_of_an_object(session: Session) -> None:
    done = session.run(
        PIXEL + "class Rich:\n"
        "    def __repr__(self): return 'plain'\n"
        "    def _repr_html_(self): return '<b>h</b>'\n"
        "    def _repr_svg_(self): return '<svg/>'\n"
        "    def _repr_png_(self): return pixel, {'width': 1}\n"
        "    def _repr_jpeg_(self): return None\n"
        "    def _repr_json_(self): return {'a': [1]}\n"
        "    def _repr_markdown_(self): return '# m'\n"
        "    def _repr_latex_(self): return '$x$'\n"
        "Rich()"
    )

    (shown,) = done.results
    assert shown.text == "plain"
    assert shown.data["text/html"] == b"<b>h</b>"
    assert shown.data["image/svg+xml"] == b"<svg/>"
    assert shown.data["image/png"].startswith(b"\x89PNG")
    assert json.loads(shown.data["application/json"]) == {"a": [1]}
    assert shown.data["text/markdown"] == b"# m"
    assert shown.data["text/latex"] == b"$x$"
    assert "image/jpeg" not in shown.data
    assert shown.metadata == {"image/png": {"width": 1}}


def test_mimebundle(session: Session) -> None:
    done = session.run(
        PIXEL + "class Bundle:\n"
        "    def _repr_mimebundle_(self, include=None, exclude=None):\n"
        "        return {'text/html': 'h', 'image/png': base64.b64encode(pixel).decode(),\n"
        "                'application/vnd.x+json': {'k': 1}, 5: 'x', 'text/none': None}, {'m': 2}\n"
        "    def _repr_html_(self): return 'not asked'\n"
        "Bundle()"
    )

    (shown,) = done.results
    assert shown.data["text/html"] == b"h"
    assert shown.data["image/png"].startswith(b"\x89PNG")
    assert json.loads(shown.data["application/vnd.x+json"]) == {"k": 1}
    assert set(shown.data) == {"text/html", "image/png", "application/vnd.x+json", "text/plain"}
    assert shown.metadata == {"m": 2}


@pytest.mark.parametrize(
    "body",
    [
        "def _repr_html_(self): raise ValueError",
        "def _repr_html_(self): return 5",
        "def _repr_html_(self): raise SystemExit(1)",
        "_repr_html_ = 7",
        "def _repr_png_(self): return 'not base64!'",
        "def _repr_mimebundle_(self, **k): return 5",
        "def _repr_mimebundle_(self): return {}",
        "def _repr_json_(self): return {1: object()}",
        "def __getattr__(self, name): return lambda *a, **k: 'everything'",
        "def __getattribute__(self, name): raise RuntimeError(name)",
        "__class__ = property(lambda self: 1 / 0)",
    ],
)
def test_hostile_rich_forms(session: Session, body: str) -> None:
    done = session.run(f"class R:\n    {body}\n    def __repr__(self): return 'text'\nR()")

    assert done.outcome == "ok"
    assert done.value == "text"
    assert set(done.results[0].data) <= {"text/plain", "application/json"}


def test_a_class_is_not_asked_for_rich_forms(session: Session) -> None:
    done = session.run("class A:\n    def _repr_html_(self): return 'x'\nA")

    assert set(done.results[0].data) == {"text/plain"}


@pytest.mark.parametrize(
    "body",
    [
        "def __repr__(self): raise ZeroDivisionError('z')",
        "def __repr__(self): return 5",
        "def __repr__(self): return repr(self)",
        "def __repr__(self): raise SystemExit(2)",
        "def __repr__(self): raise GeneratorExit",
        "def __repr__(self): raise MemoryError",
        "__repr__ = None",
    ],
)
def test_hostile_repr(session: Session, body: str) -> None:
    done = session.run(f"class Bad:\n    {body}\nBad()")

    assert done.outcome == "ok"
    assert done.value is not None and done.value.startswith("<Bad object: repr() raised ")
    assert "<Bad object" in (session.run("[1, Bad()]").value or "")
    assert session.run("print('fine')").stdout == "fine\n"


def test_a_repr_of_a_str_subclass(session: Session) -> None:
    code = (
        "class S(str):\n    def __len__(self): return 10**9\n    def encode(self, *a): raise ValueError\n"
        "class A:\n    def __repr__(self): return S('fine')\nA()"
    )

    assert session.run(code).value == "fine"


def test_deep_nesting(session: Session) -> None:
    done = session.run("x = []\nfor i in range(10_000): x = [x]\nx")

    assert done.outcome == "ok"
    assert done.value is not None and "[...]" in done.value and len(done.value) < 200


def test_deep_nesting_of_objects(session: Session) -> None:
    code = "class N:\n    def __init__(s, n): s.n = n\n    def __repr__(s): return f'N({s.n!r})'\nx = 0\n"
    done = session.run(code + "for i in range(10_000): x = N(x)\nx")

    assert done.value is not None and "RecursionError" in done.value


def test_cycles(session: Session) -> None:
    assert session.run("a = [1]\na.append(a)\na").value == "[1, [...]]"
    assert session.run("d = {}\nd['d'] = d\nd").value == "{'d': {...}}"


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("[1, 'a', None, 2.5]", "[1, 'a', None, 2.5]"),
        ("(1,)", "(1,)"),
        ("()", "()"),
        ("set()", "set()"),
        ("{3}", "{3}"),
        ("frozenset({3})", "frozenset({3})"),
        ("{'a': {'b': [1, (2,)]}}", "{'a': {'b': [1, (2,)]}}"),
        ("class L(list): pass\nL([1, 2])", "[1, 2]"),
        ("class S(set): pass\nS([1])", "S({1})"),
        ("from collections import namedtuple\nnamedtuple('P', 'x y')(1, 2)", "P(x=1, y=2)"),
        ("True", "True"),
        ("1j", "1j"),
        ("'it\\'s'", '"it\'s"'),
        ("range(3)", "range(0, 3)"),
        ("...", "Ellipsis"),
        ("NotImplemented", "NotImplemented"),
    ],
)
def test_small_values_are_exactly_their_repr(session: Session, code: str, value: str) -> None:
    assert session.run(code).value == value


def test_long_lists_are_filled_and_cut(session: Session) -> None:
    text = session.run("list(range(1_000_000))").value

    assert text is not None
    assert text.startswith("[0, 1, 2, 3,") and text.endswith(" 999, ... <999000 more>]")
    assert max(map(len, text.splitlines())) <= 80


def test_long_dicts_go_one_pair_a_line(session: Session) -> None:
    text = session.run("{f'key{i}': list(range(i)) for i in range(8)}").value

    assert text is not None and len(text.splitlines()) == 8


def test_nested_containers_are_bounded_in_all(session: Session) -> None:
    text = session.run("[list(range(1000)) for _ in range(1000)]").value

    assert text is not None and len(text) < 200_000 and "more>" in text


def test_long_strings_and_numbers_are_cut(session: Session) -> None:
    text = session.run("'x' * 10_000_000").value
    assert text is not None and len(text) < 70_000 and "10000000 in all" in text
    text = session.run("class A:\n    def __repr__(self): return 'y' * 10_000_000\nA()").value
    assert text is not None and len(text) < 70_000 and "10000000 characters" in text
    assert session.run("10 ** 5000").outcome == "ok"


def test_a_lying_container(session: Session) -> None:
    code = "class L(list):\n    def __iter__(self):\n        while True: yield 1\n    def __len__(self): return -5\nL()"

    assert session.run(code).outcome == "ok"
    code = "class L(list):\n    def __iter__(self):\n        while True: yield 1\nL([1])"
    assert session.run(code).outcome == "ok"


def test_surrogates_in_values(session: Session) -> None:
    assert session.run("class A:\n    def __repr__(self): return '\\ud800'\nA()").value == "\\ud800"


# ------------------------------------------------------------------------------------ display


def test_display_sends_at_once_and_in_order(session: Session) -> None:
    done = session.run("display(1, 'two')\n3")

    assert [(s.kind, s.text) for s in done.results] == [(1, "1"), (1, "'two'"), (0, "3")]


def test_display_ids_and_updates(session: Session) -> None:
    done = session.run(
        "h = display('a', display_id=True)\nh.update('b')\ndisplay('c', display_id='mine')\n"
        "display('d', display_id='mine', update=True)\nh2 = display('e', display_id=True)"
    )

    kinds = [(s.kind, s.text) for s in done.results]
    assert kinds == [(1, "'a'"), (2, "'b'"), (1, "'c'"), (2, "'d'"), (1, "'e'")]
    first, second, third, fourth, fifth = (s.display_id for s in done.results)
    assert first == second != "" and third == fourth == "mine" and fifth not in ("", first)


def test_display_of_a_raw_bundle_with_choice(session: Session) -> None:
    done = session.run(
        "display({'text/plain': 't', 'text/html': 'h'}, raw=True, metadata={'a': 1})"
    )
    assert done.results[0].data == {"text/plain": b"t", "text/html": b"h"}
    assert done.results[0].metadata == {"a": 1}

    code = "from IPython.display import HTML\ndisplay(HTML('x'), exclude=['text/plain'])"
    assert session.run(code).results[0].data == {"text/html": b"x"}


def test_clear_output(session: Session) -> None:
    done = session.run("display(1)\nclear_output(wait=True)\nclear_output()")

    assert [(s.kind, s.metadata) for s in done.results[1:]] == [
        (3, {"wait": True}),
        (3, {"wait": False}),
    ]


def test_the_ipython_shim(session: Session) -> None:
    done = session.run(
        PIXEL
        + "from IPython.display import (display, HTML, Image, Markdown, JSON, SVG, Latex, Math,\n"
        "    clear_output, update_display)\n"
        "for item in (HTML('<i>'), Markdown('# x'), JSON({'a': 1}), SVG('<svg/>'), Latex('$'),\n"
        "             Image(pixel, width=5), Image(url='http://x/y.png')):\n    display(item)\n"
        "import IPython\nIPython.get_ipython() is None"
    )

    kinds = [next(iter(set(s.data) - {"text/plain"}), None) for s in done.results[:-1]]
    assert kinds == [
        "text/html", "text/markdown", "application/json", "image/svg+xml", "text/latex",
        "image/png", "text/html",
    ]  # fmt: skip
    assert done.results[5].metadata == {"image/png": {"width": 5}}
    assert done.value == "True"


def test_widgets_work_without_ipython(loaded: Session) -> None:
    done = loaded.run(
        "import sys, ipywidgets, jedi\nslider = ipywidgets.IntSlider(3)\ndisplay(slider)\n"
        "out = ipywidgets.Output()\nwith out:\n    print('seen')\n"
        "out.append_display_data(slider)\n"
        "sys.modules['IPython'].__spec__.origin, len(out.outputs)"
    )

    assert "IntSlider(value=3)" in done.results[0].data["text/plain"].decode()
    assert "seen" in done.stdout
    assert done.value == "('vitrine', 1)"


def test_a_real_ipython_wins(session: Session) -> None:
    session.run(
        "import os, sys, tempfile\nd = tempfile.mkdtemp()\nos.makedirs(d + '/IPython')\n"
        "open(d + '/IPython/__init__.py', 'w').write('real = True')\nsys.path.append(d)"
    )

    assert session.run("import IPython\nIPython.real").value == "True"


def test_images_from_files(session: Session) -> None:
    done = session.run(
        PIXEL + "import os, tempfile\np = os.path.join(tempfile.mkdtemp(), 'x.png')\n"
        "n = open(p, 'wb').write(pixel)\nfrom IPython.display import Image\nImage(filename=p)"
    )

    assert done.results[0].data["image/png"].startswith(b"\x89PNG")


def test_display_in_a_thread(session: Session) -> None:
    done = session.run(
        "import threading\nt = threading.Thread(target=display, args=('from a thread',))\nt.start()\nt.join()"
    )

    assert [s.text for s in done.results] == ["'from a thread'"]


def test_display_of_a_thread_between_executions_is_printed(session: Session) -> None:
    session.run(
        "import threading\ngo = threading.Event()\ndone = threading.Event()\n"
        "def work():\n    go.wait()\n    display('late')\n    done.set()\n"
        "threading.Thread(target=work).start()\n"
        "threading.Timer(0.05, go.set).start()"
    )
    import time

    time.sleep(0.3)
    later = session.run("done.wait(5)")

    assert later.value == "True"
    assert "'late'" in later.stdout or later.results[0].text == "'late'"


# ------------------------------------------------------------------------------------- limits


def test_a_result_over_the_limit_is_replaced(session: Session) -> None:
    done = session.run("'x' * 5000", result_limit=1000)

    assert done.outcome == "ok"
    assert done.value is not None and "did not fit" in done.value
    assert len(done.notes) == 1 and "limit of 1000 bytes" in done.notes[0]


def test_a_big_rich_form_leaves_its_text(session: Session) -> None:
    code = "class R:\n    def __repr__(self): return 'small'\n    def _repr_html_(self): return 'h' * 5000\nR()"
    done = session.run(code, result_limit=1000)

    assert done.results[0].data == {"text/plain": b"small"}
    assert "text/html" in done.notes[0]


def test_the_limit_counts_all_results_of_an_execution(session: Session) -> None:
    done = session.run("for i in range(1000): display('x' * 100)", result_limit=10_000)

    total = sum(len(data) for s in done.results for data in s.data.values())
    assert total <= 10_500 and len(done.results) < 100
    assert done.notes
    assert session.run("1").value == "1"


def test_the_room_is_fresh_for_the_next_execution(session: Session) -> None:
    session.run("display('x' * 900)", result_limit=1000)

    assert session.run("'y'", result_limit=1000).value == "'y'"
