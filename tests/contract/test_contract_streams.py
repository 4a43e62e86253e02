# SPDX-License-Identifier: Apache-2.0
"""NDJSON, clients that leave, and the history."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sanitizer_marks import judges_memory
from served import Server, Session, Stream, until, within


def newest(session: Session) -> dict[str, Any]:
    return dict(session.call("GET", "/executions?limit=1").json["executions"][0])


def finished(session: Session) -> dict[str, Any]:
    """The newest execution once it is over."""
    assert within(lambda: newest(session)["state"] != "running"), "it runs on"
    return newest(session)


def test_events_come_in_order_and_finished_comes_last(session: Session) -> None:
    code = "print('one', flush=True)\ndisplay(1)\nprint('two', flush=True)\n1 / 0"

    stream = Stream(session, code)
    events = list(stream)

    assert stream.response.status == 200
    assert stream.response.headers["Content-Type"] == "application/x-ndjson"
    # Streams keep their own order; what was printed before a result or an error comes before it.
    types = [one["type"] for one in events]
    assert set(types) == {"stdout", "result", "error", "finished"}
    assert types[0] == "stdout" and events[0]["text"].startswith("one\n")
    assert types[-2:] == ["error", "finished"]
    assert "".join(one["text"] for one in events if one["type"] == "stdout") == "one\ntwo\n"
    assert events[-2]["error"]["name"] == "ZeroDivisionError"
    execution = events[-1]["execution"]
    assert execution["outcome"] == "exception"
    assert execution["stdout"] == "one\ntwo\n"
    assert newest(session)["id"] == execution["id"]


def test_events_come_while_it_runs(session: Session) -> None:
    code = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('over')"
    stream = Stream(session, code)

    assert stream.next() == {"type": "stdout", "text": "begun\n"}

    assert session.is_running()
    session.put("go", b"")
    assert [one["type"] for one in stream] == ["stdout", "finished"]


def test_the_events_make_up_the_execution(session: Session) -> None:
    code = "import sys\nfor i in range(2000): print(i); print(-i, file=sys.stderr)\ndisplay('x')\n'last'"

    events = list(Stream(session, code))

    execution = events[-1]["execution"]
    for name in ("stdout", "stderr"):
        assert "".join(one["text"] for one in events if one["type"] == name) == execution[name]
    assert [one["data"] for one in events if one["type"] == "result"] == execution["results"]


def test_a_connection_serves_on_after_a_stream(server: Server, session: Session) -> None:
    connection = server.connection()
    headers = {"Accept": "application/x-ndjson"}

    first = server.call("POST", session.path + "/exec", {"code": "1"}, headers, over=connection)
    second = server.get("/health", over=connection)
    connection.close()

    assert json.loads(first.body.splitlines()[-1])["type"] == "finished"
    assert second.body == b'{"status":"healthy"}'


def test_an_error_before_the_stream_is_a_problem(server: Server, session: Session) -> None:
    headers = {"Accept": "application/x-ndjson"}

    session.call("POST", "/exec", {"cod": "1"}, headers=headers).is_problem(422)
    session.run("import os; os._exit(1)")
    session.call("POST", "/exec", {"code": "1"}, headers=headers).is_problem(410)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [("import os; os._exit(5)", "crashed"), ("while True: pass", "timeout")],
)
def test_a_stream_ends_with_finished_however_it_ends(
    session: Session, code: str, outcome: str
) -> None:
    events = list(Stream(session, "print('x', flush=True)\n" + code, timeout_s=0.5))

    assert events[0] == {"type": "stdout", "text": "x\n"}
    assert events[-1]["type"] == "finished"
    assert events[-1]["execution"]["outcome"] == outcome
    assert [one["type"] for one in events].count("finished") == 1


def test_a_run_streams_too(server: Server) -> None:
    headers = {"Accept": "application/x-ndjson"}

    answer = server.post("/v1/run", {"code": "print(1)\n2"}, headers=headers)

    types = [json.loads(line)["type"] for line in answer.body.splitlines()]
    assert types == ["stdout", "result", "finished"]


@judges_memory
def test_a_flood_is_bounded_and_the_reader_may_be_slow(session: Session, server: Server) -> None:
    before = server.resident_kb()
    stream = Stream(session, "for i in range(300): print('x' * 100_000)", timeout_s=30)
    stream.next()
    assert server.resident_kb() - before < 64 * 1024

    *_, last = stream

    assert last["type"] == "finished"
    assert last["execution"]["outcome"] == "ok"
    assert last["execution"]["truncated"]["stdout"] is True


@pytest.mark.parametrize("kind", ["plain", "stream"])
@pytest.mark.parametrize("wish", ["default", "interrupt", "continue"])
def test_a_client_that_leaves(session: Session, server: Server, kind: str, wish: str) -> None:
    code = "import os, time\nprint('begun', flush=True)\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)\nx = 1"
    body = {"code": code} | ({} if wish == "default" else {"on_disconnect": wish})
    accept = "application/x-ndjson" if kind == "stream" else "*/*"
    connection = server.connection()
    headers = {"Content-Type": "application/json", "Accept": accept}
    connection.request("POST", session.path + "/exec", json.dumps(body), headers)
    assert until(lambda: session.file("begun").status == 200)

    connection.close()

    if wish == "continue":
        session.put("go", b"")
    execution = finished(session)
    wanted = "ok" if wish == "continue" else "interrupted"
    assert execution["outcome"] == wanted, execution
    assert execution["stdout"] == "begun\n"
    assert execution["code"] == code
    assert session.run("x")["outcome"] == ("ok" if wish == "continue" else "exception")


def test_a_client_that_leaves_the_queue(session: Session, server: Server) -> None:
    running = session.background(
        "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    )
    connection = server.connection()
    headers = {"Content-Type": "application/json"}
    connection.request("POST", session.path + "/exec", json.dumps({"code": "late = 1"}), headers)
    assert until(lambda: server.metrics()["vitrine_http_connections"] >= 3)
    connection.close()
    # The server notices within its patience; then nothing of it is left to run.
    until(lambda: server.metrics()["vitrine_http_connections"] <= 2)

    session.put("go", b"")

    assert running.result().json["outcome"] == "ok"
    assert session.run("late")["error"]["name"] == "NameError"


def test_the_history_is_newest_first_and_paged(session: Session) -> None:
    ids = [session.run(f"print({n})")["id"] for n in range(7)]
    found: list[str] = []
    query = "?limit=3"
    while True:
        page = session.call("GET", "/executions" + query).json
        assert len(page["executions"]) <= 3
        found += [one["id"] for one in page["executions"]]
        if page["next"] is None:
            break
        query = f"?limit=3&after={page['next']}"

    assert found == ids[::-1]


def test_the_history_holds_what_was_answered(session: Session) -> None:
    answered = session.run("print('x')\n1 / 0")

    stored = session.call("GET", f"/executions/{answered['id']}")

    assert stored.status == 200
    assert stored.json == answered | {"code": "print('x')\n1 / 0"}
    assert session.history() == [stored.json]


def test_the_history_shows_what_runs(session: Session) -> None:
    running = session.settled("import time; time.sleep(600)")

    assert newest(session)["state"] == "running"

    session.call("POST", "/interrupt")
    execution = running.result().json
    row = newest(session)
    assert row == execution | {"code": row["code"]}


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=501", "limit=x", "after=x", "after=-1", "other=1"]
)
def test_a_bad_page_of_history_is_refused(session: Session, query: str) -> None:
    session.call("GET", "/executions?" + query).is_problem(422)


def test_an_execution_of_another_session_is_unknown(session: Session, server: Server) -> None:
    other = server.create()
    execution = other.run("1")["id"]

    foreign = session.call("GET", f"/executions/{execution}").is_problem(404)
    unknown = session.call("GET", "/executions/" + "0" * 32).is_problem(404)

    assert foreign.body == unknown.body
    other.delete()


def test_the_history_survives_a_reset(session: Session) -> None:
    first = session.run("1")["id"]
    session.call("POST", "/reset")
    second = session.run("2")["id"]

    assert [one["id"] for one in session.history()] == [second, first]
