# SPDX-License-Identifier: Apache-2.0
"""Screenshots as tests look at them."""

from __future__ import annotations

import base64
import io
from typing import Any

from PIL import Image
from served import Answer, Session

ROOT_COLOUR = (0x20, 0x24, 0x2B)


def opened(png: bytes) -> Image.Image:
    """A picture, which must be an 8-bit RGB PNG and complete."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and png[24:26] == b"\x08\x02", png[:32]
    image = Image.open(io.BytesIO(png))
    image.load()
    return image


def shot(execution: dict[str, Any]) -> Image.Image:
    assert execution["screenshot"] is not None, execution["notes"]
    return opened(base64.b64decode(execution["screenshot"], validate=True))


def seen(session: Session, query: str = "") -> Image.Image:
    answer: Answer = session.call("GET", "/screenshot" + query)
    assert answer.status == 200, answer
    assert answer.headers["Content-Type"] == "image/png"
    return opened(answer.body)


def colour(image: Image.Image, x: int, y: int) -> tuple[int, int, int]:
    pixel = image.getpixel((x, y))
    assert isinstance(pixel, tuple)
    return pixel[0], pixel[1], pixel[2]


def is_blank(image: Image.Image) -> bool:
    return image.getcolors(2) == [(image.width * image.height, ROOT_COLOUR)]
