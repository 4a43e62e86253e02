# SPDX-License-Identifier: Apache-2.0
"""Clients that take their time."""

from __future__ import annotations

import contextlib
import time

from hostile_attacks import head, read_all, statuses
from served import Background, Server


def drip(server: Server, first: bytes) -> float:
    """Seconds until a header that comes byte by byte is given up."""
    begun = time.monotonic()
    with server.socket(1) as client, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        client.sendall(first)
        while time.monotonic() - begun < 40:
            client.sendall(b"x")
            try:
                client.settimeout(0.5)
                if not client.recv(1000):
                    break
            except TimeoutError:
                continue
    return time.monotonic() - begun


def test_a_header_must_be_whole_within_ten_seconds(victim: Server) -> None:
    starts = (b"G", head(victim)[:-2] + b"X: ", head(victim, start="POST /v1/run HTTP/1.1")[:-2])
    tasks = [Background(lambda first=first: drip(victim, first)) for first in starts for _ in "123"]

    assert all(8 < task.result() < 20 for task in tasks)


def test_a_body_that_stops_is_given_up(stalled: Background) -> None:
    answer, seconds = stalled.result()

    assert answer == b""
    assert 25 < seconds < 45


def test_a_body_that_comes_byte_by_byte_is_given_up(dripping: Background) -> None:
    assert 25 < dripping.result() < 60


def test_an_answer_does_not_keep_a_silent_client_from_being_answered_later(victim: Server) -> None:
    with victim.socket(20) as client:
        for _ in range(3):
            client.sendall(head(victim))
            assert statuses(client.recv(4096)) == [200]
            time.sleep(0.3)
        client.sendall(head(victim, "Connection: close"))
        assert statuses(read_all(client)) == [200]
