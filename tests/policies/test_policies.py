# SPDX-License-Identifier: Apache-2.0
"""Policies over HTTP: what is kept, what is said, what is counted, and the stories of the ancestors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from served import Server, Session, until

BALL = """
from dataclasses import dataclass
from typing import List

@dataclass
class Ball:
    x: float
    y: float
    dx: float = 1.0
    dy: float = -1.0
    radius: int = 10
    color: str = "red"

    def move(self, width: int, height: int) -> None:
        self.x += self.dx
        self.y += self.dy
        if not 0 < self.x < width:
            self.dx *= -1
        if not 0 < self.y < height:
            self.dy *= -1

balls: List[Ball] = [Ball(1.0, 2.0), Ball(x=3.0, y=4.0, color="blue")]
for _ in range(3):
    for ball in balls:
        ball.move(100, 100)
print(balls[1])
"""


def outcome(execution: dict[str, Any]) -> tuple[str, int, bool]:
    return execution["outcome"], execution["exit_code"], execution["state_kept"]


# -- the same under every policy


def test_state_persists(any_policy: Session) -> None:
    any_policy.run("x = 20\ndef double(n):\n    return 2 * n")

    assert any_policy.value("double(x) + 2") == "42"


def test_the_last_value_is_the_result(any_policy: Session) -> None:
    assert any_policy.run("x = [1, 2]\nx")["results"] == [{"text/plain": "[1, 2]"}]
    assert any_policy.run("y = 1")["results"] == []


def test_output_is_there_and_an_exception_is_one(any_policy: Session) -> None:
    execution = any_policy.run("print('before')\n1 / 0\nprint('after')")

    assert outcome(execution) == ("exception", 1, True)
    assert execution["stdout"] == "before\n"
    assert "ZeroDivisionError" in execution["error"]["traceback"]


def test_a_runaway_ends_at_its_time(any_policy: Session) -> None:
    execution = any_policy.run("while True:\n    x = 1", timeout_s=1.5)

    assert execution["outcome"] in ("timeout", "policy")  # smolagents counts loops too
    assert any_policy.value("1 + 1") == "2"


def test_figures_become_results(create: Callable[..., Session]) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()"
    for policy in ("native", "restricted", "smolagents"):
        fields = {"imports": ["matplotlib.pyplot"]} if policy != "native" else {}
        execution = create(policy=policy, **fields).run(code)
        assert execution["outcome"] == "ok", (policy, execution)
        assert any("image/png" in one for one in execution["results"]), policy


def test_files_are_read_by_libraries(create: Callable[..., Session]) -> None:
    for policy in ("native", "restricted", "smolagents"):
        fields = {"imports": ["pandas"]} if policy != "native" else {}
        session = create(policy=policy, **fields)
        assert session.put("data.csv", b"a,b\n1,2\n3,4\n").status in (201, 204)
        assert session.value("import pandas as pd\nint(pd.read_csv('data.csv').b.sum())") == "6"


def test_a_reset_session_has_the_same_policy(restricted: Session) -> None:
    restricted.run("x = 1")

    assert restricted.call("POST", "/reset").status == 200

    assert restricted.run("import os")["outcome"] == "policy"
    assert restricted.run("x")["error"]["name"] == "NameError"


def test_a_policy_outlives_the_front(start: Callable[..., Server]) -> None:
    server = start()
    session = server.create(policy="restricted", imports=["glob"])

    server.kill_front()

    assert session.show()["policy"] == "restricted"
    assert session.run("import os")["outcome"] == "policy"
    assert session.call("POST", "/reset").status == 200
    assert session.run("import glob")["outcome"] == "ok"
    assert session.run("import os")["outcome"] == "policy"


@pytest.fixture
def start() -> Any:
    started: list[Server] = []

    def one(*options: str, **more: Any) -> Server:
        started.append(Server(*options, **more))
        return started[-1]

    yield one
    for server in started:
        server.end()


# -- how a refusal is told


def test_a_refusal_names_rule_line_and_what_is_allowed(restricted: Session) -> None:
    execution = restricted.run("x = 1\nimport subprocess\nprint('never')")

    assert outcome(execution) == ("policy", 1, True)
    error = execution["error"]
    assert error["name"] == "PolicyViolation"
    assert error["value"].startswith("import: line 2: the module 'subprocess'")
    assert "allowed are" in error["value"] and "numpy" in error["value"]
    assert 'File "<cell 1>", line 2' in error["traceback"]
    assert "vitrine_runtime" not in error["traceback"]
    assert execution["stdout"] == ""
    assert restricted.value("x") == "1"


def test_what_is_refused_before_it_runs_shows_its_line(restricted: Session) -> None:
    execution = restricted.run("print('never')\ny = ().__subclasses__")

    assert outcome(execution) == ("policy", 1, True)
    assert "y = ().__subclasses__" in execution["error"]["traceback"]
    assert execution["stdout"] == "", "nothing of it ran"


def test_the_traceback_of_an_exception_shows_own_lines_only(restricted: Session) -> None:
    execution = restricted.run("class A:\n    def f(self):\n        return self.x.y\nA().f()")

    assert execution["error"]["name"] == "AttributeError"
    assert "return self.x.y" in execution["error"]["traceback"]
    assert "policies" not in execution["error"]["traceback"]


def test_a_caught_refusal_is_still_one(restricted: Session) -> None:
    execution = restricted.run("try:\n    import os\nexcept BaseException:\n    pass\nprint('on')")

    assert outcome(execution) == ("policy", 1, True)
    assert execution["stdout"] == "on\n"
    assert restricted.run("1")["outcome"] == "ok"


def test_refusals_are_counted_and_logged_by_policy(server: Server, restricted: Session) -> None:
    key = 'vitrine_executions_total{policy="restricted",outcome="policy"}'
    rule = 'vitrine_policy_refusals_total{policy="restricted",rule="import"}'
    before = server.metrics()

    restricted.run("import os")

    after = server.metrics()
    assert after[key] == before[key] + 1
    assert after[rule] == before.get(rule, 0) + 1
    assert 'vitrine_executions_total{policy="native",outcome="ok"}' in after
    assert "policy=restricted outcome=policy rule=import" in server.read_log()


# -- imports


def test_a_star_brings_only_what_may_be_had(restricted: Session) -> None:
    execution = restricted.run("from rich.style import *\nprint(Style.__name__)\nloads(b'')")

    assert execution["stdout"] == "Style\n"
    assert execution["error"]["name"] == "NameError", execution


def test_imports_add_to_the_list(create: Callable[..., Session]) -> None:
    assert create(policy="restricted").run("import glob")["outcome"] == "policy"

    session = create(policy="restricted", imports=["glob", "os.path"])

    assert session.run("import glob\nglob.glob('*')")["outcome"] == "ok"
    assert session.run("import os.path\nos.path.join('a', 'b')")["outcome"] == "policy"


def test_some_modules_are_never_allowed_and_that_is_said(create: Callable[..., Session]) -> None:
    session = create(policy="restricted", imports=["os", "sys"])

    execution = session.run("import os")

    assert execution["outcome"] == "policy"
    assert any("os, sys is never allowed" in note for note in execution["notes"])


def test_modules_that_run_text_are_refused_by_what_to_use_instead(
    create: Callable[..., Session],
) -> None:
    instead = {
        "timeit": "time.perf_counter()", "cProfile": "time.perf_counter()", "profile": "time.",
        "trace": "time.perf_counter()", "doctest": "assert", "unittest": "assert",
        "unittest.mock": "assert", "pdb": "print()", "bdb": "print()", "code": "cell",
        "codeop": "cell", "runpy": "cell", "rlcompleter": "cell", "pydoc": "__doc__",
        "_testcapi": "native", "ensurepip": "packages", "webbrowser": "programs",
    }  # fmt: skip
    if create().value("import sys; sys.version_info < (3, 13)") == "True":
        instead |= {"distutils.core": "packages", "pipes": "programs"}
        instead["_xxsubinterpreters"] = "native"
    else:
        instead |= {"_interpreters": "native", "_interpqueues": "native"}
    session = create(policy="restricted", imports=list(instead))

    for module, hint in instead.items():
        execution = session.run(f"import {module}")

        assert execution["outcome"] == "policy", (module, execution)
        assert hint in execution["error"]["value"].partition("; allowed are")[0], execution
    assert session.run("import time\ntime.perf_counter() > 0")["outcome"] == "ok"


def test_a_module_beside_one_that_runs_text_stays_allowed(create: Callable[..., Session]) -> None:
    session = create(policy="restricted", imports=["xml.sax", "dis", "cmd", "ast"])

    assert session.run("import dis, cmd, ast\nast.literal_eval('[1]')")["outcome"] == "ok"
    parsed = session.run("import xml.sax\nxml.sax.parseString('<a/>', xml.sax.ContentHandler())")
    assert parsed["outcome"] == "ok", parsed
    assert session.run("import xml.sax\nxml.sax.make_parser(['x'])")["outcome"] == "policy"


def test_typing_stays_authorised(create: Callable[..., Session]) -> None:
    code = "from typing import List, Optional\nx: List[int] = [1]\nprint(x)"
    for policy in ("restricted", "smolagents"):
        execution = create(policy=policy, imports=["typing"]).run(code)
        assert execution["outcome"] == "ok", (policy, execution)


def test_a_misspelt_module_does_not_end_a_session(create: Callable[..., Session]) -> None:
    session = create(policy="smolagents", imports=["dataclass", "json"])

    execution = session.run("import json, dataclasses\nprint(json.dumps([1]))")

    assert session.shown["notes"] == ["dataclass -> dataclasses"]
    assert execution["outcome"] == "ok", execution


@pytest.mark.parametrize(
    "imports",
    [["a b"], ["../x"], [""], [1], ["m" * 129], ["m"] * 257, "json", ["numpy.*"], ["é"]],
    ids=repr,
)
def test_what_is_no_module_is_refused(server: Server, imports: Any) -> None:
    answer = server.post("/v1/sessions", {"policy": "restricted", "imports": imports})

    answer.is_problem(422)


def test_an_unknown_policy_is_refused(server: Server) -> None:
    server.post("/v1/sessions", {"policy": "wild"}).is_problem(422)


def test_restrictedpython_is_the_same(create: Callable[..., Session]) -> None:
    assert create(policy="restrictedpython").shown["policy"] == "restricted"


def test_one_shots_have_policies(server: Server) -> None:
    answer = server.post("/v1/run", {"policy": "restricted", "code": "import os"})
    assert answer.json["outcome"] == "policy"
    answer = server.post("/v1/run", {"policy": "smolagents", "code": "import os"})
    assert answer.json["outcome"] == "policy"


# -- the default


def test_the_server_has_a_default(start: Callable[..., Server]) -> None:
    server = start(front=("--policy", "restricted"))

    assert server.info()["policy"] == "restricted"
    assert server.create().run("import os")["outcome"] == "policy"
    assert server.create(policy="native").run("import os")["outcome"] == "ok"
    assert server.post("/v1/run", {"code": "open('x')"}).json["outcome"] == "policy"


def test_openenv_chooses_at_reset(server: Server) -> None:
    answer = server.post("/reset", {"executor_backend": "restrictedpython"})
    assert answer.status == 200, answer
    cookie = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}

    step = server.post("/step", {"action": {"code": "import os"}}, headers=cookie)

    assert step.status == 200, step
    observation = step.json["observation"]
    assert observation["exit_code"] == 1
    assert "PolicyViolation: import: line 1" in observation["stderr"]
    assert server.post("/reset", {"executor_backend": "wild"}).status == 422


# -- the ancestors' stories


@pytest.mark.parametrize("policy", ["native", "restricted"])
def test_the_ball_program_runs(create: Callable[..., Session], policy: str) -> None:
    execution = create(policy=policy).run(BALL)

    assert execution["outcome"] == "ok", execution
    assert execution["stdout"] == ("Ball(x=6.0, y=1.0, dx=1.0, dy=-1.0, radius=10, color='blue')\n")


def test_the_ball_program_fails_helpfully_under_smolagents(create: Callable[..., Session]) -> None:
    session = create(policy="smolagents", imports=["dataclasses", "typing"])

    execution = session.run(BALL)

    assert execution["outcome"] != "ok"
    assert "takes no arguments" in execution["error"]["value"]
    assert any("restricted" in note and "native" in note for note in execution["notes"])


# -- smolagents


def test_smolagents_refuses_as_it_does(agents: Session) -> None:
    execution = agents.run("x = 1\nimport os")

    assert outcome(execution) == ("policy", 1, True)
    assert execution["error"]["value"].startswith("smolagents: line 2: ")
    assert "Import of os is not allowed" in execution["error"]["value"] or (
        "os" in execution["error"]["value"]
    )
    assert any("restricted" in note for note in execution["notes"])


def test_smolagents_takes_final_answers(agents: Session) -> None:
    assert agents.value("x = 41\nfinal_answer(x + 1)\nx = 0") == "42"


def test_smolagents_prints_as_it_goes(agents: Session) -> None:
    execution = agents.run("for i in range(3):\n    print(i)\n1 / 0")

    assert execution["stdout"] == "0\n1\n2\n"
    assert outcome(execution) == ("exception", 1, True)


# -- what a policy brings along is loaded once


@pytest.fixture
def own_server() -> Iterator[Server]:
    one = Server("--pool", "1")
    with one.must_end_cleanly():
        yield one


def test_sessions_of_smolagents_come_from_a_zygote_of_their_own(own_server: Server) -> None:
    server = own_server

    def zygote() -> dict[str, Any]:
        found = [z for z in server.info()["zygotes"] if z["policy"] == "smolagents"]
        return dict(found[0]) if found else {"warm": False}

    assert not zygote()["warm"], "nobody has asked for it"
    first = server.create(policy="smolagents").run("1 + 1")
    assert until(lambda: zygote()["warm"])
    second = server.create(policy="smolagents").run("1 + 1")

    assert zygote()["forks"] == 1
    assert first["results"] == second["results"] == [{"text/plain": "2"}]
    assert second["usage"]["cpu_ms"] < first["usage"]["cpu_ms"] / 3
    assert server.create().value("1 + 1") == "2"
    assert zygote()["forks"] == 1, "others do not come from it"
