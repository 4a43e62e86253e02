# SPDX-License-Identifier: Apache-2.0
"""Killed fronts, workers and zygotes; a clean end; a start on old data. Nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from served import Answer, Background, Server, Session, Stream, until, within

WAIT_FOR_GO = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('over')\ny = 'done'\ny"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Shared by this file only: its front is killed again and again."""
    one = Server()
    try:
        yield one
        verdict = one.stop()
        assert verdict == (0, []), f"{verdict}\n{one.read_log()}"
    finally:
        one.end()


@pytest.fixture(scope="module", autouse=True)
def stubborn_end() -> Iterator[Background]:
    """SIGTERM to a server whose code would run for minutes. It takes the whole drain time, so it
    goes on beside the other tests."""
    one = Server()
    session = one.create()
    task = session.background("import time; time.sleep(600)", timeout_s=500)
    verdict = Background(one.stop)
    yield verdict
    verdict.settle()
    task.settle()
    one.end()


def cut_off(task: Background) -> Answer | None:
    """What a client got whose server was killed: an answer, or a broken connection."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        return task.result()  # type: ignore[no-any-return]
    return None


def used_bytes(session: Session) -> int:
    """What the files in the home take, also those without a name."""
    return int(
        session.value("import os; s = os.statvfs('.'); (s.f_blocks - s.f_bfree) * s.f_frsize")
    )


def finished(session: Session, execution: str) -> dict[str, object]:
    def over() -> dict[str, object] | None:
        row = session.call("GET", f"/executions/{execution}").json
        return row if row["state"] != "running" else None

    row = until(over)
    assert row, "it never ends"
    return dict(row)


def test_an_idle_front_is_replaced(server: Server, create: Callable[..., Session]) -> None:
    made = [create(name=f"n{n}", limits={"output_kb": 100 + n}) for n in range(5)]
    for n, session in enumerate(made):
        session.run(f"x = {n}")
        session.put("f", b"%d" % n)
    shown = [session.show() for session in made]
    keeper = server.process.pid

    dead = server.kill_front()

    assert server.info()["processes"]["keeper"] == keeper
    assert server.front() != dead
    assert {session.id for session in made} <= set(server.listed())
    assert [session.show() for session in made] == shown
    for n, session in enumerate(made):
        assert session.value("x") == str(n)
        assert session.file("f").body == b"%d" % n
        assert len(session.history()) == 2


def test_fronts_are_replaced_again_and_again(server: Server, session: Session) -> None:
    session.run("n = 0")
    for n in range(1, 6):
        server.kill_front()
        assert session.value(f"n = n + 1\n'round {n}', n") == f"('round {n}', {n})"

    assert session.value("n") == "5"
    assert server.get("/health").body == b'{"status":"healthy"}'


@pytest.mark.serial
def test_each_front_that_had_been_ready_is_replaced_at_once(server: Server) -> None:
    """A second, as promised, and one more for a machine under load; a pause is for crash loops."""
    taken = []
    for _ in range(6):
        pid = server.front()
        begin = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        server.wait_for_front(pid)
        taken.append(time.monotonic() - begin)

    assert max(taken) < 2, taken


def test_a_request_in_the_gap_waits_for_the_next_front(server: Server, session: Session) -> None:
    """The listening socket is the keeper's: connections are queued, not refused. The first one is
    served before the worker has said a word to the new front."""
    session.run("x = 1")
    session.run("'an old result'")
    for n in range(3):
        pid = server.front()
        os.kill(pid, signal.SIGKILL)

        answer = None
        while answer is None:  # only a connection that the dead one had taken is cut
            with contextlib.suppress(ConnectionResetError, http.client.RemoteDisconnected):
                answer = session.exec(f"print({n})\n'new', {n}, x")

        assert answer.status == 200, answer
        assert answer.json["outcome"] == "ok", answer
        assert answer.json["results"] == [{"text/plain": f"('new', {n}, 1)"}], answer
        assert answer.json["stdout"] == f"{n}\n"
        assert session.value("x") == "1", "the session lives on"
        server.wait_for_front(pid)


def test_code_sent_before_the_worker_knows_the_new_front(server: Server, session: Session) -> None:
    """The same moment, held open: the worker is stopped, so its greeting comes after the request."""
    worker = session.worker()
    session.run("x = 1")
    session.run("'an old result'")
    os.kill(worker, signal.SIGSTOP)
    try:
        server.kill_front()
        task = session.background("print('new')\n'new', x")
    finally:
        os.kill(worker, signal.SIGCONT)

    answer = task.result()
    assert answer.status == 200, answer
    assert answer.json["outcome"] == "ok", answer
    assert answer.json["results"] == [{"text/plain": "('new', 1)"}], answer
    assert answer.json["stdout"] == "new\n"
    assert session.value("x") == "1", "the session lives on"
    assert len(session.history()) == 5


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


def test_no_acknowledged_result_is_lost(server: Server, create: Callable[..., Session]) -> None:
    sessions = [create() for _ in range(4)]
    for session in sessions:
        session.run("n = 0")
    acknowledged: list[tuple[int, str, str]] = []
    stop = threading.Event()

    def work(index: int) -> None:
        session = sessions[index]
        while not stop.is_set():
            try:
                answer = session.exec("n += 1\nprint(n)")
            except (OSError, http.client.HTTPException):
                continue
            if answer.status == 200:
                acknowledged.append((index, answer.json["id"], answer.json["stdout"]))
            else:
                assert answer.status in (429, 503), answer

    tasks = [Background(lambda i=i: work(i)) for i in range(len(sessions))]
    for _ in range(4):
        before = len(acknowledged)
        assert until(lambda b=before: len(acknowledged) > b + 40)
        server.kill_front()
    stop.set()
    for task in tasks:
        task.result()

    for index, session in enumerate(sessions):
        rows = {row["id"]: row for row in session.history()}
        mine = [(name, text) for i, name, text in acknowledged if i == index]
        assert mine
        missing = [name for name, _ in mine[-900:] if name not in rows]
        assert not missing, f"{len(missing)} of {len(mine)} acknowledged results are lost"
        assert all(rows[name]["stdout"] == text for name, text in mine[-900:])
        assert int(session.value("n")) >= len(mine), "nothing ran twice, nothing was undone"
        texts = [text for _, text in mine]
        assert len(texts) == len(set(texts)), "each ran once"


def test_acknowledged_sessions_and_files_are_never_lost(server: Server) -> None:
    made: list[Session] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                session = server.create()
                assert session.put("f", session.id.encode()).status == 201
                made.append(session)
            except (OSError, http.client.HTTPException):
                continue

    tasks = [Background(work) for _ in range(2)]
    for _ in range(2):
        before = len(made)
        until(lambda b=before: len(made) > b + 5)  # some are made by each front
        server.kill_front()
    stop.set()
    for task in tasks:
        task.result()
    assert len(made) >= 12

    listed = set(server.listed())
    assert {session.id for session in made} <= listed
    for session in made:
        assert session.file("f").body == session.id.encode()
    for one in listed:
        server.call("DELETE", f"/v1/sessions/{one}")
    assert server.listed() == []


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


def test_sigterm_lets_a_request_finish_and_leaves_nothing(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    sessions = [server.create() for _ in range(3)]
    task = sessions[0].background("import time\nprint('a')\ntime.sleep(2)\n'end'")
    stream = Stream(sessions[1], "import time\nprint('a', flush=True)\ntime.sleep(2)\n'end'")
    assert stream.next()["type"] == "stdout"
    sessions[2].run(
        "import subprocess; p = subprocess.Popen(['sleep', '600'], start_new_session=True)"
    )

    verdict = server.stop()

    assert verdict == (0, []), server.read_log()
    answer = task.result()
    assert answer.status == 200
    assert answer.json["outcome"] == "ok"
    assert answer.json["results"] == [{"text/plain": "'end'"}]
    events = list(stream)
    assert events[-1]["type"] == "finished"
    assert events[-1]["execution"]["outcome"] == "ok"


def test_sigterm_does_not_wait_for_ever(stubborn_end: Background) -> None:
    assert stubborn_end.result() == (0, [])


def test_old_data_is_opened_and_old_sessions_are_ended(
    start_server: Callable[..., Server],
) -> None:
    first = start_server()
    session = first.create()
    done = session.run("print('kept')")["id"]
    task = session.background("import time; time.sleep(600)", timeout_s=500)
    token = first.token
    first.process.kill()  # the keeper itself, without a word
    first.process.wait()
    task.settle()

    second = start_server(directory=first.directory)

    assert second.token == token
    assert second.listed() == []
    unknown = second.get("/v1/sessions/" + "0" * 32).is_problem(404)
    assert second.get(session.path).is_problem(404).body == unknown.body
    second.get(f"{session.path}/executions/{done}").is_problem(404)
    fresh = second.create()
    assert fresh.value("1") == "1"
    second.kill_front()
    assert second.listed() == [fresh.id]
    assert second.stop() == (0, [])
    with contextlib.closing(sqlite3.connect(second.data / "vitrine.db")) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = {
            name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        assert {"sessions", "executions"} <= tables
        text = json.dumps(
            [list(map(str, row)) for row in store.execute("SELECT * FROM executions")]
        )
        assert done in text and "kept" in text
        assert "running" not in {
            state for (state,) in store.execute("SELECT state FROM executions")
        }


@pytest.mark.skipif(os.geteuid() != 0, reason="without root the front has no user id of its own")
def test_a_directory_that_the_front_cannot_reach_ends_the_start(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0o700)
    begin = time.monotonic()

    with pytest.raises(RuntimeError) as failure:
        start_server(directory=closed / "inner")

    assert "data directory" in str(failure.value) and "remedy" in str(failure.value)
    assert time.monotonic() - begin < 20


def test_a_front_that_never_starts_ends_the_start(start_server: Callable[..., Server]) -> None:
    """A database of a later version, for example: the reason is logged, and the keeper gives up."""
    first = start_server()
    first.stop()
    with sqlite3.connect(first.data / "vitrine.db") as database:
        database.execute("PRAGMA user_version=99")

    with pytest.raises(RuntimeError) as failure:
        start_server(directory=first.directory)

    assert "has version 99" in str(failure.value)
    assert "does not start" in str(failure.value)
