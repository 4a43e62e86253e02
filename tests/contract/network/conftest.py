# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the network tests: a server whose sessions may reach one loopback network."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from origins import CLOSED, OPEN, Origin, listening
from served import Server, Session


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server("--egress-allow-private", "127.77.0.0/16")
    with one.must_end_cleanly():
        yield one


@pytest.fixture(scope="module")
def origin() -> Iterator[Origin]:
    with listening(OPEN) as one:
        yield one


@pytest.fixture(scope="module")
def inner() -> Iterator[Origin]:
    """What sessions must never reach."""
    with listening(CLOSED) as one:
        yield one
        assert one.seen == []


@pytest.fixture
def online(create: Callable[..., Session], origin: Origin) -> Session:
    return create(network={"allow": [origin.name]})
