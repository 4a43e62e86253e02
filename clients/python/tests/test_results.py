# SPDX-License-Identifier: Apache-2.0
"""Results as data, as text and in a notebook. No server is needed."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image

import vitrine
from vitrine.results import parse_event, parse_result


def result(**fields: Any) -> vitrine.Result:
    given = {"id": "1", "session": "2", "outcome": "ok", "exit_code": 0, "state_kept": True}
    return parse_result({**given, **fields})


def plain(text: str) -> vitrine.Result:
    return result(results=[{"text/plain": text}])


@pytest.mark.parametrize("value", [1, 1.5, "x", None, True, [1, (2,)], {"a": {1}}, b"\x00"])
def test_plain_values_come_back(value: Any) -> None:
    assert plain(repr(value)).value == value


@pytest.mark.parametrize(
    "text", ["<object>", "__import__('os')", "(" * 100_000, "f()", "1 if 1 else 2"]
)
def test_other_values_are_not_evaluated(text: str) -> None:
    with pytest.raises(vitrine.NotPlainData, match="text"):
        assert plain(text).value


def test_json_wins_over_text() -> None:
    shown = result(results=[{"text/plain": "<JSON>", "application/json": {"a": [1]}}])

    assert shown.value == {"a": [1]}


def test_no_value_is_none() -> None:
    assert result().value is None and result().text == ""


def test_unknown_fields_are_ignored_and_missing_ones_have_defaults() -> None:
    shown = parse_result({"id": "1", "outcome": "crashed", "exit_code": 3, "new": 1})

    assert not shown.ok and not shown.state_kept and shown.results == []


def test_as_text_it_is_what_a_terminal_shows() -> None:
    error = {"name": "E", "value": "v", "traceback": "Traceback\nE: v\n"}
    shown = result(
        outcome="exception", stdout="out\n", stderr="err\n", error=error, notes=["try this"]
    )

    assert str(shown) == "out\nerr\nTraceback\nE: v\n[note: try this]"
    assert "exception" in repr(shown) and "E: v" in repr(shown)
    assert str(result(outcome="oom", exit_code=137)) == "[oom, exit code 137]"


def test_a_screenshot_is_a_picture() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 3)).save(buffer, "PNG")
    shown = result(screenshot=base64.b64encode(buffer.getvalue()).decode())

    assert shown.screenshot is not None and shown.screenshot.size == (4, 3)
    assert result().screenshot is None
    assert result(screenshot=None).screenshot_png is None


def test_frames_are_pictures_with_time_and_place() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 3)).save(buffer, "PNG")
    picture = base64.b64encode(buffer.getvalue()).decode()
    fields = {"at_ms": 1250, "stdout_offset": 7, "line": 3, "image": picture}

    shown = result(frames=[fields, {**fields, "line": None}])

    first, second = shown.frames
    assert (first.at_ms, first.stdout_offset, first.line) == (1250, 7, 3)
    assert first.image.size == (4, 3) and second.line is None
    assert "frames=2" in repr(shown) and result().frames == []
    page = shown._repr_mimebundle_()["text/html"]
    assert "1.25 s, line 3" in page and page.count("data:image/png;base64,") == 2
    event = parse_event(json.dumps({"type": "frame", **fields}).encode())
    assert event.frame == first


def test_a_notebook_runs_no_scripts() -> None:
    evil = "<script>alert(1)</script>"
    shown = result(
        stdout=evil,
        results=[
            {"text/html": f"<b>{evil}</b>\"'>", "text/plain": "x"},
            {"image/svg+xml": f"<svg>{evil}</svg>"},
            {"image/png": '"><script>alert(1)</script>', "text/plain": evil},
            {"text/plain": evil},
        ],
        error={"name": "E", "value": evil, "traceback": evil},
        notes=[evil],
    )
    page = shown._repr_mimebundle_()["text/html"]

    assert "<script" not in page
    assert '<iframe sandbox=""' in page and "&lt;script&gt;" in page
    assert "data:image/svg+xml;base64," in page


def test_events() -> None:
    event = parse_event(
        b'{"type": "result", "data": {"text/plain": "1"}, "display_id": "d", "update": true}'
    )

    assert (event.type, event.data, event.display_id, event.update) == (
        "result",
        {"text/plain": "1"},
        "d",
        True,
    )
