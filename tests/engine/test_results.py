# SPDX-License-Identifier: Apache-2.0
"""Results: MIME bundles of the last value, of display(), of figures and frames; their limits."""

from __future__ import annotations

import json
import struct
import zlib

import pytest
from client import Execution, Keeper, Session

import wire

HUGE = 40 << 20


def decode_png(data: bytes) -> tuple[int, int, int]:
    """Width, height and the number of different bytes in the pixels; fails if it is damaged."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, header, pixels, ended = 8, b"", b"", False
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack_from(">I", data, at + 8 + length)
        assert checksum == zlib.crc32(kind + body)
        header = body if kind == b"IHDR" else header
        pixels += body if kind == b"IDAT" else b""
        ended = kind == b"IEND"
        at += 12 + length
    assert ended
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    raw = zlib.decompress(pixels)
    assert (depth, interlaced) == (8, 0)
    assert len(raw) == height * (1 + width * channels)
    return width, height, len(set(raw))


def pictures(execution: Execution) -> list[tuple[int, int, int]]:
    return [decode_png(r["image/png"]) for r in execution.results if "image/png" in r]


def test_a_numpy_array_is_shown_as_text(loaded: Session) -> None:
    shown = loaded.run("import numpy as np\nnp.arange(6).reshape(2, 3)")

    assert shown.texts == ["array([[0, 1, 2],\n       [3, 4, 5]])"]


def test_a_pandas_frame_is_shown_as_text_and_as_html(loaded: Session) -> None:
    shown = loaded.run("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', '<y>']})")

    (bundle,) = shown.results
    assert b"a" in bundle["text/plain"] and b"<y>" in bundle["text/plain"]
    assert b"<table" in bundle["text/html"] and b"&lt;y&gt;" in bundle["text/html"]


def test_an_open_figure_becomes_a_picture_that_decodes(loaded: Session) -> None:
    drawn = loaded.run("import matplotlib.pyplot as plt\nplt.plot([1, 3, 2]); plt.title('ü')\n0")

    assert (drawn.outcome, drawn.stderr) == ("ok", b"")
    ((width, height, values),) = pictures(drawn)
    assert width > 100 and height > 100 and values > 10


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("plt.plot([1]); plt.show()", 1),
        ("plt.plot([1]); plt.show(); plt.plot([2]); plt.show()", 2),
        ("plt.subplots(); plt.subplots()", 2),
        ("plt.figure()\n0", 0),
        ("fig, ax = plt.subplots()\nfig", 1),
        ("fig, ax = plt.subplots(); plt.close(fig)", 0),
        ("plt.plot([1])\n1 / 0", 1),
    ],
)
def test_each_figure_is_shown_once(loaded: Session, code: str, count: int) -> None:
    drawn = loaded.run(f"import matplotlib.pyplot as plt\n{code}")

    assert len(pictures(drawn)) == count
    assert pictures(loaded.run("0")) == []


def test_a_figure_is_shown_where_pyplot_was_not_imported_before(session: Session) -> None:
    drawn = session.run("import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")

    assert len(pictures(drawn)) == 1


def test_a_pil_image_is_shown_as_a_picture(session: Session) -> None:
    shown = session.run("from PIL import Image\nImage.new('RGB', (3, 2), 'red')")

    assert [p[:2] for p in pictures(shown)] == [(3, 2)]


def test_nothing_heavy_is_imported_by_showing_results(session: Session) -> None:
    session.run("class A:\n    def __repr__(self): return 'an A'\n[A()]")

    loaded = session.run(
        "import sys\nsorted({'numpy', 'pandas', 'matplotlib', 'PIL', 'IPython'} & set(sys.modules))"
    )

    assert loaded.texts == ["[]"]


def test_display_gives_results_in_order_between_prints(session: Session) -> None:
    shown = session.run("for i in range(3):\n    display(i)\n'last'")

    assert shown.texts == ["0", "1", "2", "'last'"]
    kinds = [body["kind"] for body in shown.bodies(wire.RESULT)]
    assert kinds == [1, 1, 1, 0]


def test_display_takes_ready_made_bundles(session: Session) -> None:
    shown = session.run(
        "display({'text/html': '<b>x</b>', 'application/json': {'a': [1]}}, raw=True)\n"
        "class R:\n"
        "    def _repr_svg_(self): return '<svg/>'\n"
        "    def _repr_mimebundle_(self, **_): return {'application/json': {'b': 2}}\n"
        "R()"
    )

    first, second = shown.results
    assert first["text/html"] == b"<b>x</b>"
    assert json.loads(first["application/json"]) == {"a": [1]}
    assert json.loads(second["application/json"]) == {"b": 2}


def test_a_repr_that_fails_still_gives_a_result(session: Session) -> None:
    shown = session.run("class Bad:\n    def __repr__(self):\n        return 1 / 0\nBad()")

    assert (shown.outcome, len(shown.texts)) == ("ok", 1)
    assert "Bad" in shown.texts[0]


def test_results_are_bounded_together(session: Session) -> None:
    code = "for i in range(100): display({'text/plain': 'x' * 50_000}, raw=True)"

    shown = session.run(code, result_limit=1 << 20)

    size = sum(len(value) for result in shown.results for value in result.values())
    assert shown.outcome == "ok" and shown.results
    assert size <= 1 << 20
    assert shown.notes, "nobody was told that results are missing"


def test_one_huge_result_is_refused_with_a_note(session: Session) -> None:
    shown = session.run(f"display({{'image/x': b'x' * {HUGE}}}, raw=True)", result_limit=1 << 20)

    assert shown.outcome == "ok"
    assert sum(len(v) for r in shown.results for v in r.values()) <= 1 << 20
    assert [note for note in shown.notes if "did not fit" in note], shown.notes
    assert session.run("1").texts == ["1"]


def test_the_text_of_a_huge_value_is_shortened_and_ends_visibly(session: Session) -> None:
    shown = session.run(f"'x' * {HUGE}")

    (text,) = shown.texts
    assert len(text) < 100_000
    assert "..." in text[-100:], text[-100:]


def test_a_result_of_many_frames_arrives_whole(session: Session) -> None:
    code = "text = ''.join(map(str, range(300_000)))\ndisplay({'text/plain': text}, raw=True)"

    shown = session.run(code + "\nlen(text)", result_limit=8 << 20)

    assert shown.texts[0] == "".join(map(str, range(300_000)))
    assert shown.texts[1] == str(len(shown.texts[0]))


def test_deep_and_strange_values_do_not_break_the_session(session: Session) -> None:
    for code in (
        "x = []\nfor _ in range(10_000): x = [x]\nx",
        "class M(type):\n    def __repr__(c): raise SystemExit(9)\nclass C(metaclass=M): pass\nC",
        "class B(BaseException):\n    def __str__(self): raise self\nraise B",
        "'\\ud800 lone'",
        "display({'text/plain': '\\udfff'}, raw=True)",
        "raise ValueError('\\ud800')",
        "type('N' * 100_000, (Exception,), {})('v' * 3_000_000).__repr__()",
        "raise type('N' * 100_000, (Exception,), {})('v' * 3_000_000)",
        "display({f'a/{i}': 'x' for i in range(200)}, raw=True)",
        "display({'text/plain': 5, 7: 'x', 'no slash': 'y'}, raw=True)",
    ):
        ran = session.run(code)
        assert ran.outcome in ("ok", "exception"), code
        assert ran.lie is None, (code, ran.lie)
        assert session.run("40 + 2").texts == ["42"], code


def test_figures_of_two_sessions_at_once_do_not_mix(keeper: Keeper) -> None:
    sessions = [keeper.create("loaded") for _ in range(3)]
    begun = [
        s.begin(f"import matplotlib.pyplot as plt\nplt.subplots(figsize=({n + 2}, 2))\n0")
        for n, s in enumerate(sessions)
    ]

    for session, execution in zip(sessions, begun, strict=True):
        session.wait(execution)
    widths = [pictures(execution)[0][0] for execution in begun]
    assert widths == sorted(set(widths)) and len(widths) == 3
