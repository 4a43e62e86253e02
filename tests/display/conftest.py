# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the display's tests: one server, sessions that end with their test, pictures."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "contract"))

from served import Answer, Server, Session

ROOT_COLOUR = (0x20, 0x24, 0x2B)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    one = Server()
    with one.must_end_cleanly():
        yield one


@pytest.fixture
def create(server: Server) -> Iterator[Callable[..., Session]]:
    made: list[Session] = []

    def one(**fields: object) -> Session:
        made.append(server.create(**fields))
        return made[-1]

    yield one
    for session in made:
        assert session.delete().status in (204, 404)


@pytest.fixture
def session(create: Callable[..., Session]) -> Session:
    return create()


@pytest.fixture
def start_server() -> Iterator[Callable[..., Server]]:
    """Starts servers for this test alone: for those that end."""
    started: list[Server] = []

    def start(*options: str, **more: Any) -> Server:
        started.append(Server(*options, **more))
        return started[-1]

    yield start
    for one in started:
        one.end()


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
