# SPDX-License-Identifier: Apache-2.0
"""A value as a MIME bundle, asking only the value itself: nothing is imported for it."""

from __future__ import annotations

import binascii
import json
import sys

from .channel import encodable
from .errors import FAILURES
from .pretty import pretty
from .sealed import __builtins__  # noqa: F401

Bundle = dict[str, bytes]
Metadata = dict[str, object]

METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
    ("_repr_javascript_", "application/javascript"),
    ("_repr_pdf_", "application/pdf"),
)

# Types that have no rich form: the common case asks no further question.
PLAIN_TYPES = frozenset(
    (int, float, str, bool, complex, bytes, bytearray, list, tuple, dict, set, frozenset, range)
)


def bundle_of(value: object) -> tuple[Bundle, Metadata]:
    """All forms of `value`. Raises nothing but a KeyboardInterrupt."""
    bundle: Bundle = {}
    metadata: Metadata = {}
    kind = type(value)
    if kind not in PLAIN_TYPES and not issubclass(kind, type):
        _add_rich(kind, value, bundle, metadata)
    if "text/plain" not in bundle:
        bundle["text/plain"] = encode_text(pretty(value))
    return bundle, metadata


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def encode(mime: str, data: object) -> bytes | None:
    """`data` as the bytes of `mime`; None where it is nothing of that kind."""
    if data is None:
        return None
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if mime == "application/json" or mime.endswith("+json"):
        if isinstance(data, str) and mime != "application/json":
            return encode_text(data)
        return json.dumps(data, default=repr).encode("utf-8", "backslashreplace")
    if isinstance(data, str):
        if _is_binary(mime):  # text in place of bytes is base64 by convention
            return binascii.a2b_base64(data)
        return encode_text(data)
    return None


def _is_binary(mime: str) -> bool:
    return mime == "application/pdf" or (
        mime.startswith(("image/", "audio/", "video/")) and mime != "image/svg+xml"
    )


def _add_rich(kind: type, value: object, bundle: Bundle, metadata: Metadata) -> None:
    module = sys.modules
    image = getattr(module.get("PIL.Image"), "Image", None)
    if image is not None and issubclass(kind, image):
        _add(bundle, metadata, "image/png", _png_of_image, value)
        return
    if getattr(kind, "_repr_mimebundle_", None) is not None:
        _add_all(value, bundle, metadata)
    figure = getattr(module.get("matplotlib.figure"), "Figure", None)
    if figure is not None and issubclass(kind, figure):
        from .figures import png_of_figure

        _add(bundle, metadata, "image/png", png_of_figure, value)
        return
    for name, mime in METHODS:
        if mime not in bundle and getattr(kind, name, None) is not None:
            _add(bundle, metadata, mime, _call, value, name)


def _call(value: object, name: str) -> object:
    return getattr(value, name)()


def _add(bundle: Bundle, metadata: Metadata, mime: str, make, *arguments: object) -> None:
    try:
        data = make(*arguments)
        if isinstance(data, tuple) and len(data) == 2:
            data, about = data
            if isinstance(about, dict):
                metadata[mime] = about
        encoded = encode(mime, data)
    except FAILURES:
        return
    if encoded is not None:
        bundle[mime] = encoded


def _add_all(value: object, bundle: Bundle, metadata: Metadata) -> None:
    try:
        data = value._repr_mimebundle_(include=None, exclude=None)  # type: ignore[attr-defined]
        if isinstance(data, tuple) and len(data) == 2:
            data, about = data
            if isinstance(about, dict):
                metadata.update(about)
        items = list(data.items()) if isinstance(data, dict) else []
    except FAILURES:
        return
    for mime, item in items:
        if isinstance(mime, str):
            _add(bundle, metadata, encodable(str(mime), 200), _same, item)


def _same(item: object) -> object:
    return item


def _png_of_image(image) -> bytes:
    import io

    out = io.BytesIO()
    try:
        image.save(out, "PNG")
    except (OSError, ValueError, KeyError):  # a mode that PNG does not know
        out = io.BytesIO()
        image.convert("RGB").save(out, "PNG")
    return out.getvalue()
