# SPDX-License-Identifier: Apache-2.0
"""An execution goes on while the front is replaced; one whose worker dies says so."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest
from interrupted_calls import WAIT_FOR_GO, cut_off, finished
from served import Background, Server, Session, Stream, until, within


@pytest.mark.parametrize("kind", ["plain", "stream"])
def test_a_running_execution_survives(server: Server, session: Session, kind: str) -> None:
    session.run("x = 1")
    if kind == "plain":
        task = session.background(WAIT_FOR_GO)
    else:
        stream = Stream(session, WAIT_FOR_GO)
        assert stream.next()["type"] == "stdout"
        task = Background(lambda: list(stream))
    execution = session.running_id()

    server.kill_front()

    got = cut_off(task)
    assert got is None or got == [], "the connection is gone"
    assert session.show()["state"] == "busy"
    assert session.history()[0]["state"] == "running"
    session.put("go", b"")
    row = finished(session, execution)
    assert row["outcome"] == "ok", row
    assert row["exit_code"] == 0
    assert row["stdout"].endswith("over\n")
    assert row["results"] == [{"text/plain": "'done'"}]
    assert row["notes"], "it says that the server was restarted"
    assert row["code"] == WAIT_FOR_GO
    assert session.value("(x, y)") == "(1, 'done')"


def test_two_restarts_within_one_execution(server: Server, session: Session) -> None:
    session.run("x = 'state'")
    task = session.background(WAIT_FOR_GO)
    execution = session.running_id()

    server.kill_front()
    server.kill_front()

    cut_off(task)
    session.put("go", b"")
    row = finished(session, execution)
    assert row["outcome"] == "ok", row
    assert row["results"] == [{"text/plain": "'done'"}], row
    assert session.value("(x, y)") == "('state', 'done')"


def test_one_that_ends_while_there_is_no_front(server: Server, session: Session) -> None:
    code = "import os, time\nx = 'set'\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('small')\ntime.sleep(0.3)\nx"
    task = Background(lambda: session.exec(code))
    assert until(session.is_running)
    execution = session.running_id()
    pid = server.front()
    session.put("go", b"")
    os.kill(pid, signal.SIGSTOP)  # deaf while the code ends
    time.sleep(1)

    os.kill(pid, signal.SIGKILL)
    server.wait_for_front(pid)

    task.settle()
    row = finished(session, execution)
    assert row["outcome"] == "ok", row
    assert row["results"] == [{"text/plain": "'set'"}]
    assert session.value("x") == "'set'"


def test_a_running_execution_can_still_be_interrupted(server: Server, session: Session) -> None:
    session.run("x = 1")
    task = session.background("import time; time.sleep(600)", timeout_s=500)
    execution = session.running_id()

    server.kill_front()

    cut_off(task)
    assert session.call("POST", "/interrupt").status == 204
    row = finished(session, execution)
    assert (row["outcome"], row["exit_code"]) == ("interrupted", 130), row
    assert session.value("x") == "1"


def test_the_own_timeout_of_an_execution_survives(
    server: Server, create: Callable[..., Session]
) -> None:
    session = create(limits={"exec_timeout_s": 600})
    task = session.background("import time; time.sleep(600)", timeout_s=2)
    execution = session.running_id()

    server.kill_front()

    cut_off(task)

    def over() -> bool:
        return bool(session.call("GET", f"/executions/{execution}").json["state"] != "running")

    survived = within(over, 12)
    session.call("POST", "/interrupt")
    assert survived, "its time limit was forgotten"
    assert finished(session, execution)["outcome"] == "timeout"


def test_a_time_limit_holds_for_a_worker_that_ignores_a_new_front(
    server: Server, session: Session
) -> None:
    worker = session.worker()
    os.kill(worker, signal.SIGSTOP)
    server.kill_front()

    task = session.background("1", timeout_s=1)

    answer = task.result()
    assert answer.status == 200, answer
    assert answer.json["outcome"] == "crashed", answer
    assert session.show()["state"] == "dead"


def test_a_crash_while_there_is_no_front_is_told(server: Server, session: Session) -> None:
    code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\ntime.sleep(0.3)\nos._exit(6)"
    task = session.background(code)
    execution = session.running_id()
    pid = server.front()
    session.put("go", b"")
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1)

    os.kill(pid, signal.SIGKILL)
    server.wait_for_front(pid)

    task.settle()
    row = finished(session, execution)
    assert (row["outcome"], row["state_kept"]) == ("crashed", False), row
    assert row["exit_code"] == 6, row
    session.exec("1").is_problem(410, "session_dead")


def test_orphans_of_a_killed_front_are_taken_down(server: Server) -> None:
    task = Background(
        lambda: server.post("/v1/run", {"code": "import time; time.sleep(600)", "timeout_s": 500})
    )
    assert until(lambda: server.metrics()["vitrine_executions_running"] == 1)

    server.kill_front()

    assert cut_off(task) is None
    assert until(lambda: server.metrics()["vitrine_executions_running"] == 0)
    assert server.listed() == []


def test_a_killed_worker_is_a_typed_outcome(server: Server, session: Session) -> None:
    worker = session.worker()
    task = session.background("import time; time.sleep(600)")

    os.kill(worker, signal.SIGKILL)

    execution = task.result().json
    assert (execution["outcome"], execution["exit_code"]) == ("crashed", 137), execution
    assert execution["state_kept"] is False
    session.exec("1").is_problem(410, "session_dead")
    assert session.call("POST", "/reset").status == 200
    assert session.value("1") == "1"


def test_an_idle_worker_that_is_killed(server: Server, session: Session) -> None:
    os.kill(session.worker(), signal.SIGKILL)

    assert until(lambda: session.show()["state"] == "dead")
    session.exec("1").is_problem(410, "session_dead")


def test_killed_zygotes_are_replaced_and_sessions_live(server: Server, session: Session) -> None:
    session.run("x = 1")
    zygotes = {one["pid"] for one in server.info()["zygotes"]}

    for pid in zygotes:
        os.kill(pid, signal.SIGKILL)

    def made() -> Session | None:
        answer = server.post("/v1/sessions")
        if answer.status == 201:
            return Session(server, answer.json)
        answer.is_problem(503)
        assert "Retry-After" in answer.headers
        return None

    fresh = until(made)
    assert fresh.value("6 * 7") == "42"
    fresh.delete()
    assert until(lambda: zygotes.isdisjoint({one["pid"] for one in server.info()["zygotes"]}))
    answer = session.exec("x")
    if answer.status == 200:
        assert answer.json["results"] == [{"text/plain": "1"}]
    else:  # it may have gone down with its parent, but then it says so
        answer.is_problem(410, "session_dead")
