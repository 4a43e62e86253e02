# SPDX-License-Identifier: Apache-2.0
"""Frozen, dead, deleted and half-written: what a session was it still is after the front was killed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from served import Server, Session, until, within


def frozen(server: Server, create: Callable[..., Session]) -> Session:
    """A session with a variable and a file, left alone until it is frozen."""
    session = create(limits={"idle_timeout_s": 8})
    session.run("x = 'state'")
    session.put("kept", b"file")

    def is_frozen() -> bool:  # the list does not count as use
        page = server.get("/v1/sessions?limit=1000", headers=server.authorised()).json["sessions"]
        return any(one["id"] == session.id and one["state"] == "frozen" for one in page)

    assert within(is_frozen), "it is never frozen"
    return session


def test_a_frozen_session_that_is_reset_keeps_its_files(
    server: Server, create: Callable[..., Session]
) -> None:
    session = frozen(server, create)

    answer = session.call("POST", "/reset", {"files": "keep"})

    assert answer.status == 200, answer
    assert session.value("open('kept').read()") == "'file'"


def test_a_frozen_session_continues_after_a_restart(
    server: Server, create: Callable[..., Session]
) -> None:
    session = frozen(server, create)

    server.kill_front()

    answer = session.exec("x, open('kept').read()", timeout_s=5)
    assert answer.status == 200, answer
    assert answer.json["outcome"] == "ok", answer
    assert answer.json["results"] == [{"text/plain": "('state', 'file')"}]


def test_a_frozen_session_survives_two_restarts_and_a_reset(
    server: Server, create: Callable[..., Session]
) -> None:
    session = frozen(server, create)

    server.kill_front()
    server.kill_front()

    assert session.value("x") == "'state'"
    server.kill_front()
    assert session.call("POST", "/reset", {"files": "keep"}).status == 200
    assert session.value("open('kept').read()") == "'file'"


@pytest.mark.parametrize(
    "code", ["import os; os._exit(6)", "x = b'x' * (8 << 30)"], ids=["exit", "oom"]
)
def test_the_dead_stay_dead_of_the_same_cause(
    server: Server, create: Callable[..., Session], code: str
) -> None:
    session = create(limits={"memory_mb": 96})
    session.put("kept", b"x")
    execution = session.run("import resource\n" + code)
    if execution["outcome"] == "exception":
        pytest.skip("the allocation was refused at once")
    shown = session.show()
    problem = session.exec("1").is_problem(410)

    server.kill_front()

    assert session.show() == shown
    assert session.exec("1").is_problem(410).body == problem.body
    assert session.file("kept").body == b"x"
    assert session.call("POST", "/reset", {"files": "keep"}).status == 200
    assert session.value("open('kept').read()") == "'x'"


def test_deleted_sessions_stay_deleted(server: Server) -> None:
    session = server.create()
    session.delete()

    server.kill_front()

    session.call("GET").is_problem(404)
    assert session.id not in server.listed()


def test_a_reset_session_is_found_again(server: Server, session: Session) -> None:
    session.run("x = 1")
    session.call("POST", "/reset")
    session.run("x = 2")

    server.kill_front()

    assert session.value("x") == "2"


def used_bytes(session: Session) -> int:
    """What the files in the home take, also those without a name."""
    return int(
        session.value("import os; s = os.statvfs('.'); (s.f_blocks - s.f_bfree) * s.f_frsize")
    )


def test_an_upload_in_the_middle(server: Server, session: Session) -> None:
    head = f"PUT {session.path}/files/big HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 10000000\r\n\r\n"
    with server.socket() as client:
        client.sendall(head.encode() + bytes(2_000_000))
        assert until(lambda: used_bytes(session) >= 2_000_000)
        assert session.value("import os; os.listdir()") == "[]", "it has no name yet"

        server.kill_front()

    assert session.names() == []
    session.file("big").is_problem(404)
    assert session.put("big", b"again").status == 201
    assert session.file("big").body == b"again"


def test_half_an_upload_does_not_eat_the_quota_for_ever(
    server: Server, create: Callable[..., Session]
) -> None:
    session = create(limits={"disk_mb": 8})
    head = f"PUT {session.path}/files/big HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 8000000\r\n\r\n"
    with server.socket() as client:
        client.sendall(head.encode() + bytes(6_000_000))
        assert until(lambda: used_bytes(session) > 5_000_000)

        server.kill_front()

    assert session.put("other", bytes(6_000_000)).status == 201, "the half is taken away"
