# SPDX-License-Identifier: Apache-2.0
"""A result as HTML for a notebook.

What is shown was chosen by untrusted code, so none of it becomes part of the page: text is escaped,
pictures are data URLs in <img> (where an SVG runs no scripts), and HTML lies in an <iframe sandbox>
that may neither run scripts nor reach its parent.
"""

from __future__ import annotations

import base64
import html
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results import Bundle, Frame, Result

_PRE = "margin:0;white-space:pre-wrap"
_STRIP = "display:flex;overflow-x:auto;gap:8px"
_CELL = "margin:0;flex:none;font:12px sans-serif"
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")


def as_html(result: Result) -> str:
    parts = [_pre(result.stdout), _pre(result.stderr, "color:#a33")]
    parts += [_bundle(one) for one in result.results]
    if result.error:
        parts.append(_pre(result.error.traceback, "color:#a33"))
    elif not result.ok:
        parts.append(_pre(f"{result.outcome}, exit code {result.exit_code}", "color:#a33"))
    if result.frames:
        parts.append(_strip(result.frames))
    parts += [_pre(note, "color:#777") for note in result.notes]
    return f"<div>{''.join(parts)}</div>"


def _pre(text: str, style: str = "") -> str:
    return f'<pre style="{_PRE};{style}">{html.escape(text)}</pre>' if text else ""


def _bundle(bundle: Bundle) -> str:
    for kind in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        if kind in bundle and _BASE64.fullmatch(str(bundle[kind])):
            return _image(kind, str(bundle[kind]))
    if "image/svg+xml" in bundle:
        return _image("image/svg+xml", _base64(bundle["image/svg+xml"]))
    if "text/html" in bundle:
        return _frame(str(bundle["text/html"]))
    return _pre(str(bundle.get("text/plain", "")))


def _image(kind: str, data: str, style: str = "") -> str:
    return f'<img alt="" style="{style}" src="data:{kind};base64,{"".join(data.split())}">'


def _strip(frames: list[Frame]) -> str:
    """In a row that scrolls, each with when and where."""
    cells = []
    for one in frames:
        where = f", line {one.line}" if one.line is not None else ""
        picture = _image("image/png", base64.b64encode(one.png).decode(), "width:240px")
        caption = html.escape(f"{one.at_ms / 1000:.2f} s{where}")
        cells.append(
            f'<figure style="{_CELL}">{picture}<figcaption>{caption}</figcaption></figure>'
        )
    return f'<div style="{_STRIP}">{"".join(cells)}</div>'


def _frame(document: str) -> str:
    lines = document.count("<tr") + document.count("<br") + document.count("<p") + 2
    height = min(40 + 24 * lines, 480)
    page = f"<style>body{{font:13px sans-serif}}</style>{document}"
    return (
        f'<iframe sandbox="" srcdoc="{html.escape(page)}" '
        f'style="width:100%;height:{height}px;border:0"></iframe>'
    )


def _base64(text: Any) -> str:
    return base64.b64encode(str(text).encode()).decode()
