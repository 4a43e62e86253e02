# SPDX-License-Identifier: Apache-2.0
"""Many at once, each with its own right answers."""

from __future__ import annotations

import json
import os
import threading
from ast import literal_eval
from concurrent.futures import ThreadPoolExecutor

import pytest
from served import Server, Session, within

SESSIONS = 50
EXECUTIONS = 5


def test_fifty_sessions_at_once_all_answer_right(server: Server) -> None:
    together = threading.Barrier(SESSIONS)

    def work(n: int) -> list[str]:
        connection = server.connection()
        together.wait()
        created = server.call("POST", "/v1/sessions", {"name": str(n)}, over=connection)
        assert created.status == 201, created
        session = Session(server, created.json)
        said = []
        for k in range(EXECUTIONS):
            code = f"n = {n}" if k == 0 else f"n += {k}"
            body = {"code": f"{code}\nprint('s{n}', {k})\nn"}
            answer = server.call("POST", session.path + "/exec", body, over=connection)
            assert answer.status == 200, answer
            execution = answer.json
            assert execution["outcome"] == "ok", execution
            assert execution["session"] == session.id
            assert execution["stdout"] == f"s{n} {k}\n"
            said.append(execution["results"][0]["text/plain"])
        history = server.call("GET", session.path + "/executions", over=connection).json[
            "executions"
        ]
        assert len(history) == EXECUTIONS
        assert server.call("DELETE", session.path, over=connection).status == 204
        connection.close()
        return said

    with ThreadPoolExecutor(SESSIONS) as pool:
        answers = list(pool.map(work, range(SESSIONS)))

    assert answers == [
        [str(n + k * (k + 1) // 2) for k in range(EXECUTIONS)] for n in range(SESSIONS)
    ]


def test_runs_streams_files_and_executions_mix(server: Server) -> None:
    session = server.create()

    def work(n: int) -> bool:
        if n % 4 == 0:
            answer = server.post("/v1/run", {"code": f"{n} * 2"})
            return bool(answer.json["results"] == [{"text/plain": str(n * 2)}])
        if n % 4 == 1:
            content = str(n).encode() * 10_000
            return (
                session.put(f"d/{n}", content).status == 201
                and session.file(f"d/{n}").body == content
            )
        if n % 4 == 2:
            own = server.create()
            text = own.call(
                "POST", "/exec", {"code": f"print({n})"}, headers={"Accept": "application/x-ndjson"}
            )
            lines = [json.loads(line) for line in text.body.splitlines()]
            return own.delete().status == 204 and lines[0] == {"type": "stdout", "text": f"{n}\n"}
        return server.get("/health").status == 200 and session.show()["id"] == session.id

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(80)))
    assert len(session.names("d")) == 20
    session.delete()


def test_many_share_one_session_without_mixing(server: Server) -> None:
    session = server.create()
    session.run("n = 0")

    def work(k: int) -> tuple[int, str]:
        answer = session.exec(f"n += 1\nprint('for {k}')")
        return answer.status, answer.json.get("stdout", "")

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(work, range(60)))

    assert answers == [(200, f"for {k}\n") for k in range(60)]
    assert session.value("n") == "60"
    session.delete()


BURN = """
import os, time
seen, end = set(), time.monotonic() + 20
while time.monotonic() < end and (len(seen) < 2 or time.monotonic() < end - 18):
    sum(range(20_000))
    seen.add(tuple(sorted(os.sched_getaffinity(0))))
sorted(seen)
"""


def test_sessions_that_burn_stay_on_a_processor_while_the_machine_is_full(server: Server) -> None:
    everywhere = needs_processors(server)
    sessions = [server.create() for _ in range(2 * len(everywhere))]

    def burn(session: Session) -> set[tuple[int, ...]]:
        return set(literal_eval(session.run(BURN)["results"][0]["text/plain"]))

    with ThreadPoolExecutor(len(sessions)) as pool:
        seen = list(pool.map(burn, sessions))

    alone = [{place for place in places if len(place) == 1} for places in seen]
    assert all(alone), seen
    assert {cpu for places in alone for (cpu,) in places} == set(everywhere)
    for session in sessions:
        assert within(lambda one=session: places(one) == len(everywhere)), "it never goes free"
        refused = session.exec("os.sched_setaffinity(0, {0})").json
        assert refused["error"]["name"] == "PermissionError"
        session.call("DELETE")


BURN_BEHIND = """
import os, threading
go = True
def burn():
    while go: pass
threading.Thread(target=burn).start()
"""


def test_threads_that_burn_behind_an_execution_are_found(server: Server) -> None:
    everywhere = needs_processors(server)
    sessions = [server.create() for _ in range(2 * len(everywhere))]
    for session in sessions:
        session.run(BURN_BEHIND)

    for session in sessions:
        assert within(lambda one=session: places(one) < len(everywhere)), "it is never kept apart"
        session.run("go = False")
    for session in sessions:
        assert within(lambda one=session: places(one) == len(everywhere)), "it never goes free"
        session.call("DELETE")


def places(session: Session) -> int:
    return int(session.run("len(os.sched_getaffinity(0))")["results"][0]["text/plain"])


def needs_processors(server: Server) -> list[int]:
    everywhere = sorted(os.sched_getaffinity(server.process.pid))
    if len(everywhere) < 2 or server.info()["isolation"]["cpu"] != "cgroup":
        pytest.skip("needs two processors and cgroups that share them")
    return everywhere
