# SPDX-License-Identifier: Apache-2.0
"""Sessions: made, listed, shown, reset, ended; and what a dead one still answers."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from served import Server, Session, until

DEFAULTS = {
    "memory_mb": 512,
    "cpus": 1.0,
    "processes": 64,
    "disk_mb": 256,
    "output_kb": 1024,
    "exec_timeout_s": 30,
    "idle_timeout_s": 1800,
    "install_timeout_s": 300,
}
UNKNOWN = "/v1/sessions/" + "0" * 32


def test_creation_answers_201_with_the_whole_session(server: Server) -> None:
    answer = server.post("/v1/sessions", {"name": "demo"})

    assert answer.status == 201
    assert answer.headers["Content-Type"] == "application/json"
    shown = answer.json
    assert shown["state"] == "ready"
    assert shown["name"] == "demo"
    assert shown["isolation"] == "process"
    assert shown["policy"] == "native"
    assert shown["limits"] == DEFAULTS
    assert shown["notes"] == []
    assert re.fullmatch(r"[0-9a-f]{32}", shown["id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", shown["created_at"])
    assert answer.headers["Location"] == f"/v1/sessions/{shown['id']}"
    assert server.call("DELETE", f"/v1/sessions/{shown['id']}").status == 204


@pytest.mark.parametrize("body", [None, b"", b"  \n", {}])
def test_every_field_of_a_session_is_optional(server: Server, body: object) -> None:
    answer = server.post("/v1/sessions", body)

    assert answer.status == 201, answer
    assert Session(server, answer.json).delete().status == 204


def test_wishes_are_granted_and_shown(create: Callable[..., Session]) -> None:
    limits = {
        "memory_mb": 300,
        "cpus": 0.5,
        "processes": 20,
        "disk_mb": 17,
        "output_kb": 5,
        "exec_timeout_s": 7.5,
        "idle_timeout_s": 100,
        "install_timeout_s": 50,
    }

    session = create(
        env={"GREETING": "hé"}, seed=7, limits=limits, policy="native", isolation="process"
    )

    assert session.shown["limits"] == limits
    assert session.show()["limits"] == limits
    assert session.shown["seed"] == 7
    assert session.value("import os; os.environ['GREETING']") == "'hé'"


def test_equal_seeds_give_equal_numbers(create: Callable[..., Session]) -> None:
    code = "import random, numpy; (random.random(), numpy.random.rand(), hash('x'))"

    first, second = (create(seed=11).value(code) for _ in range(2))

    assert first == second


def test_a_session_keeps_its_state_and_shares_none(create: Callable[..., Session]) -> None:
    first, second = create(), create()

    first.run("x = 41")
    second.run("x = 1")

    assert first.value("x + 1") == "42"
    assert second.value("x + 1") == "2"


def test_the_list_needs_the_token(server: Server) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer x"},
        {"Authorization": "Bearer " + server.token[:-1]},
    ):
        answer = server.get("/v1/sessions", headers=headers)

        answer.is_problem(401)
        assert "WWW-Authenticate" in answer.headers


def test_the_list_is_paged_and_complete(server: Server, create: Callable[..., Session]) -> None:
    made = [create().id for _ in range(5)]
    ids: list[str] = []
    query = "?limit=2"
    while True:
        page = server.get("/v1/sessions" + query, headers=server.authorised())
        assert page.status == 200
        assert len(page.json["sessions"]) <= 2
        ids += [one["id"] for one in page.json["sessions"]]
        if page.json["next"] is None:
            break
        query = f"?limit=2&after={page.json['next']}"

    assert len(ids) == len(set(ids))
    assert set(made) <= set(ids)


def test_the_list_goes_on_after_a_session_that_was_deleted(
    server: Server, create: Callable[..., Session]
) -> None:
    for _ in range(4):
        create()
    listed = server.listed()
    page = server.get(f"/v1/sessions?limit={len(listed) - 2}", headers=server.authorised()).json
    last = page["sessions"][-1]["id"]
    server.call("DELETE", f"/v1/sessions/{last}")

    rest = server.get(f"/v1/sessions?after={page['next']}", headers=server.authorised()).json

    assert [one["id"] for one in rest["sessions"]] == listed[-2:]


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=x", "limit=-1", "limit=1001", "nonsense=1", "after=x", "after=" + "0" * 32],
)
def test_a_bad_page_is_refused(server: Server, query: str) -> None:
    server.get("/v1/sessions?" + query, headers=server.authorised()).is_problem(422)


def test_deleted_and_unknown_look_the_same(server: Server) -> None:
    session = server.create()
    session.run("1")

    assert session.delete().status == 204

    for method, below in (
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/exec"),
        ("GET", "/executions"),
        ("GET", "/executions/" + "1" * 32),
        ("GET", "/stack"),
        ("POST", "/interrupt"),
        ("POST", "/reset"),
        ("GET", "/files"),
        ("GET", "/files/a"),
        ("PUT", "/files/a"),
        ("DELETE", "/files/a"),
    ):
        body = {"code": "1"} if below == "/exec" else None
        deleted = session.call(method, below, body).is_problem(404)
        unknown = server.call(method, UNKNOWN + below, body).is_problem(404)
        assert deleted.body == unknown.body, (method, below)


def test_delete_ends_what_runs_with_a_typed_answer(server: Server) -> None:
    session = server.create()
    running = session.background("import time; time.sleep(600)")

    assert session.delete().status == 204

    answer = running.result()
    assert answer.status == 200, answer
    assert answer.json["outcome"] == "crashed"
    assert answer.json["state_kept"] is False


def test_the_state_shows_what_happens(create: Callable[..., Session]) -> None:
    session = create()
    running = session.settled("import time; time.sleep(600)")

    assert session.show()["state"] == "busy"

    session.call("POST", "/interrupt")
    running.result()
    assert session.show()["state"] == "ready"
    session.run("import os; os._exit(3)")
    assert session.show()["state"] == "dead"


def test_interrupt_is_204_also_when_idle(session: Session) -> None:
    for body in (None, {}):
        answer = session.call("POST", "/interrupt", body)
        assert (answer.status, answer.body) == (204, b"")

    assert session.value("6 * 7") == "42"


def test_reset_wipes(session: Session) -> None:
    session.run("x = 1; open('left.txt', 'w').write('me')")

    answer = session.call("POST", "/reset")

    assert answer.status == 200
    assert answer.json["id"] == session.id
    assert answer.json["state"] == "ready"
    assert session.run("x")["error"]["name"] == "NameError"
    assert session.names() == []


def test_reset_keeps_files_when_asked(session: Session) -> None:
    session.run("x = 1; open('left.txt', 'w').write('me')")

    assert session.call("POST", "/reset", {"files": "keep"}).status == 200

    assert session.run("x")["error"]["name"] == "NameError"
    assert session.file("left.txt").body == b"me"
    session.call("POST", "/reset", {"files": "perhaps"}).is_problem(422)


def test_reset_keeps_the_wishes(create: Callable[..., Session]) -> None:
    session = create(env={"K": "v"}, limits={"exec_timeout_s": 9})

    session.call("POST", "/reset")

    assert session.value("import os; os.environ['K']") == "'v'"
    assert session.show()["limits"]["exec_timeout_s"] == 9


def test_reset_of_a_busy_session_answers_both(session: Session) -> None:
    running = session.background("import time; time.sleep(600)")

    assert session.call("POST", "/reset").status == 200

    assert running.result().json["outcome"] == "crashed"
    assert session.value("6 * 7") == "42"


def test_a_dead_session_says_why_and_keeps_its_files(session: Session) -> None:
    session.run("open('result.txt', 'w').write('precious')")
    session.run("import os; os._exit(7)")

    for method, below in (("POST", "/exec"), ("GET", "/stack")):
        answer = session.call(method, below, {"code": "1"} if below == "/exec" else None)
        answer.is_problem(410, "session_dead")
        assert "7" in answer.json["detail"], "the cause"
        assert "reset" in answer.json["remedy"]
    assert session.show()["death"]["code"] == 7
    assert session.file("result.txt").body == b"precious"
    assert session.names() == ["result.txt"]
    assert session.put("late/more.txt", b"x").status == 201
    assert session.call("DELETE", "/files/late").status == 204
    assert session.call("POST", "/interrupt").status == 204
    assert [one["outcome"] for one in session.history()] == ["crashed", "ok"]


def test_a_dead_session_can_be_reset_again_and_again(session: Session) -> None:
    session.run("open('kept', 'w').write('x')")
    for n in range(1, 4):
        execution = session.run(f"import os; os._exit({n})")
        assert (execution["outcome"], execution["exit_code"]) == ("crashed", n)
        assert session.show()["state"] == "dead"

        assert session.call("POST", "/reset", {"files": "keep"}).json["state"] == "ready"

        assert session.value("open('kept').read()") == "'x'"


def test_a_dead_session_is_404_after_delete(server: Server) -> None:
    session = server.create()
    session.run("import os; os._exit(7)")

    assert session.delete().status == 204
    session.call("GET").is_problem(404)


def test_an_idle_session_is_frozen_then_ended_but_never_while_it_works(server: Server) -> None:
    session = server.create(limits={"idle_timeout_s": 2})
    session.run("x = 1")

    def state() -> str:  # the list does not count as use
        page = server.get("/v1/sessions?limit=1000", headers=server.authorised()).json["sessions"]
        return next((one["state"] for one in page if one["id"] == session.id), "gone")

    assert until(lambda: state() == "frozen")
    assert session.value("x") == "1", "woken"
    assert session.run("import time; time.sleep(3); x")["outcome"] == "ok", "work is no idleness"
    assert until(lambda: state() == "gone")
    session.call("GET").is_problem(404)


def test_one_run_leaves_no_session(server: Server) -> None:
    before = server.listed()

    answer = server.post(
        "/v1/run",
        {
            "code": "import os; print(input() + os.environ['K'])\n6 * 7",
            "stdin": "in\n",
            "env": {"K": "v"},
            "timeout_s": 20,
            "limits": {"memory_mb": 256},
        },
    )

    assert answer.status == 200
    execution = answer.json
    assert execution["outcome"] == "ok", execution
    assert execution["stdout"] == "inv\n"
    assert execution["results"] == [{"text/plain": "42"}]
    assert server.listed() == before


@pytest.mark.parametrize(
    ("code", "outcome", "exit_code"),
    [
        ("1", "ok", 0),
        ("1/0", "exception", 1),
        ("import sys; sys.exit(4)", "exception", 4),
        ("import os; os._exit(9)", "crashed", 9),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed", 139),
    ],
)
def test_one_run_ends_in_every_way(server: Server, code: str, outcome: str, exit_code: int) -> None:
    execution = server.post("/v1/run", {"code": code}).json

    assert (execution["outcome"], execution["exit_code"]) == (outcome, exit_code), execution


def test_runs_share_nothing(server: Server) -> None:
    server.post("/v1/run", {"code": "import builtins; builtins.x = 1; open('f', 'w').write('x')"})

    execution = server.post(
        "/v1/run", {"code": "import os; (os.listdir('.'), 'x' in dir(__builtins__))"}
    )

    assert execution.json["results"] == [{"text/plain": "([], False)"}]
