# SPDX-License-Identifier: Apache-2.0
"""What the server says of itself: health, OpenAPI against the real routes, metrics, info."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from answer_schemas import Description
from http_answer import parse_answer
from served import Server, Session

ROUTES = {
    ("get", "/health"),
    ("get", "/metrics"),
    ("get", "/openapi.json"),
    ("get", "/screenshot"),
    ("get", "/record"),
    ("get", "/v1/info"),
    ("post", "/v1/run"),
    ("post", "/v1/sessions"),
    ("get", "/v1/sessions"),
    ("get", "/v1/sessions/{id}"),
    ("delete", "/v1/sessions/{id}"),
    ("post", "/v1/sessions/{id}/exec"),
    ("get", "/v1/sessions/{id}/executions"),
    ("get", "/v1/sessions/{id}/executions/{execution}"),
    ("get", "/v1/sessions/{id}/stack"),
    ("post", "/v1/sessions/{id}/interrupt"),
    ("post", "/v1/sessions/{id}/reset"),
    ("post", "/v1/sessions/{id}/recordings"),
    ("get", "/v1/sessions/{id}/recordings"),
    ("get", "/v1/sessions/{id}/recordings/{recording}"),
    ("post", "/v1/sessions/{id}/recordings/{recording}/stop"),
    ("delete", "/v1/sessions/{id}/recordings/{recording}"),
    ("get", "/v1/sessions/{id}/files"),
    ("get", "/v1/sessions/{id}/files/{path}"),
    ("put", "/v1/sessions/{id}/files/{path}"),
    ("delete", "/v1/sessions/{id}/files/{path}"),
}
METHODS = ("get", "post", "put", "delete", "patch")


def described(server: Server) -> dict[str, Any]:
    answer = server.get("/openapi.json")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    return dict(answer.json)


def listed_routes(server: Server) -> set[tuple[str, str]]:
    return {(method, path) for path, item in described(server)["paths"].items() for method in item}


def test_health_is_exactly_this(server: Server) -> None:
    answer = server.get("/health")

    assert answer.status == 200
    assert answer.body == b'{"status":"healthy"}'
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("host", ["10.0.0.7:8000", "vitrine.default.svc", "evil.example"])
def test_health_is_told_to_whoever_asks_by_whatever_name(server: Server, host: str) -> None:
    probe = f"GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"

    answer = parse_answer(server.raw(probe.encode()))

    assert (answer.status, answer.body) == (200, b'{"status":"healthy"}')


def test_the_description_is_openapi_with_a_version_of_1(server: Server) -> None:
    description = described(server)

    assert description["openapi"].startswith("3.")
    assert description["info"]["version"].startswith("1.")
    assert description["info"]["title"]


def test_the_description_lists_the_native_routes(server: Server) -> None:
    assert listed_routes(server) >= ROUTES


def test_every_listed_route_is_there_and_no_other_method_is(
    server: Server, session: Session
) -> None:
    """Probed with a living session, so that a 404 can only mean the route."""
    session.put("file", b"x")
    execution = session.run("1")["id"]
    listed = listed_routes(server)
    paths = sorted({path for _, path in listed})
    victim = server.create().id
    films = [session.call("POST", "/recordings").json["id"] for _ in range(2)]

    for path in paths:
        for method in METHODS:
            known = (method, path) in listed
            real = path.replace("{path}", "file").replace("{execution}", execution)
            real = real.replace("{recording}", films[method == "delete"])
            # What ends a session probes another one.
            real = real.replace(
                "{id}", victim if method == "delete" and path.endswith("{id}") else session.id
            )
            answer = server.call(method.upper(), real, headers=server.authorised())
            if known:
                assert answer.status not in (404, 405, 501), (method, path, answer)
                assert answer.status < 500, (method, path, answer)
            else:
                answer.is_problem(405, "method_not_allowed")


def test_405_says_what_is_allowed(server: Server) -> None:
    answer = server.call("PUT", "/v1/sessions").is_problem(405)

    allowed = {one.strip() for one in (answer.headers["Allow"] or "").split(",")}
    assert {"GET", "POST"} <= allowed


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/v1",
        "/v1/",
        "/v1/sessions/",
        "/v1/nothing",
        "/v2/sessions",
        "/v1/sessions/{id}/nothing",
        "/v1/sessions/{id}/exec/more",
        "/health/",
        "//health",
        "/Health",
    ],
)
def test_what_is_not_listed_is_404(server: Server, session: Session, path: str) -> None:
    server.get(path.replace("{id}", session.id)).is_problem(404, "not_found")


def test_the_request_schemas_name_the_fields_that_are_taken(
    server: Server, session: Session
) -> None:
    schemas = described(server)["components"]["schemas"]

    def known(answer: Any) -> set[str]:
        return set(answer.is_problem(422).json["remedy"].partition("known here: ")[2].split(", "))

    of_session = known(server.post("/v1/sessions", {"nonsense": 1}))
    of_exec = known(session.call("POST", "/exec", {"code": "1", "nonsense": 1}))
    assert set(schemas["Session"]["properties"]) == of_session
    assert set(schemas["Exec"]["properties"]) == of_exec


def test_an_execution_is_as_its_schema_says(server: Server, session: Session) -> None:
    schema = described(server)["components"]["schemas"]["Execution"]

    execution = session.run("1")

    assert set(schema["required"]) <= execution.keys()
    assert execution["outcome"] in schema["properties"]["outcome"]["enum"]


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return {one for item in value for one in references(item)}
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return own | {one for item in value.values() for one in references(item)}


def test_every_schema_that_is_named_is_there(server: Server) -> None:
    description = described(server)

    named = {one.removeprefix("#/components/schemas/") for one in references(description)}
    assert named == description["components"]["schemas"].keys()


def test_every_native_route_describes_its_body_and_its_answer(server: Server) -> None:
    paths = described(server)["paths"]

    ours = [path for path in paths if path.startswith("/v1/")]
    assert len(ours) > 15
    for path in (*ours, "/health", "/metrics", "/openapi.json"):
        for method, operation in paths[path].items():
            success = [status for status in operation["responses"] if status[0] == "2"]
            assert len(success) == 1, (method, path)
            problem = operation["responses"]["default"]["content"]
            assert list(problem) == ["application/problem+json"]
    for path, schema in {
        "/v1/run": "Run",
        "/v1/sessions": "Session",
        "/v1/sessions/{id}/exec": "Exec",
        "/v1/sessions/{id}/input": "Input",
        "/v1/sessions/{id}/packages": "Packages",
        "/v1/sessions/{id}/reset": "Reset",
    }.items():
        body = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body == {"$ref": f"#/components/schemas/{schema}"}


def test_a_limit_is_refused_exactly_outside_its_described_range(server: Server) -> None:
    limits = described(server)["components"]["schemas"]["Limits"]["properties"]
    assert len(limits) == 8

    for name, limit in limits.items():
        server.post("/v1/sessions", {"limits": {name: limit["maximum"] + 1}}).is_problem(422)
        server.post("/v1/sessions", {"limits": {name: limit["minimum"] / 2}}).is_problem(422)
        # The bound itself is a number that is accepted; another mistake keeps it from being used.
        problem = server.post("/v1/sessions", {"limits": {name: limit["minimum"]}, "nonsense": 1})
        assert "nonsense" in problem.is_problem(422).json["detail"]


def test_an_answer_that_is_not_as_described_is_seen(server: Server) -> None:
    description = Description(described(server))
    schema = description.document["components"]["schemas"]["Stack"]

    assert description.mistakes({"running": False, "execution": None, "stack": ""}, schema) == []
    assert description.mistakes({"running": 0, "execution": None, "stack": ""}, schema)
    assert description.mistakes({"running": False, "stack": ""}, schema)


SAMPLE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)"
    r"(\{[a-zA-Z_][a-zA-Z0-9_]*=\"(?:[^\"\\\n]|\\[\\\"n])*\"(?:,[a-zA-Z_][a-zA-Z0-9_]*=\"(?:[^\"\\\n]|\\[\\\"n])*\")*\})?"
    r" (-?[0-9.]+(?:e[+-]?[0-9]+)?|\+Inf|-Inf|NaN)"
)


def test_metrics_are_prometheus_text(server: Server) -> None:
    answer = server.get("/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    text = answer.body.decode()
    assert text.endswith("\n")

    types: dict[str, str] = {}
    seen: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in types, "a family comes once"
            types[name] = kind
            continue
        if line.startswith("# HELP "):
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        name = match[1]
        family = re.sub(r"_(bucket|sum|count)$", "", name)
        family = family if types.get(family) == "histogram" else name
        assert family in types, line
        assert (types[family] == "counter") == name.endswith("_total"), line
        key = match[1] + (match[2] or "")
        assert key not in seen, "a sample comes once"
        seen.add(key)
    assert {"counter", "gauge", "histogram"} <= set(types.values())
    assert len(seen) > len(types)


def test_histograms_add_up(server: Server, session: Session) -> None:
    session.run("1")
    samples = server.metrics()

    buckets = [
        value
        for name, value in samples.items()
        if name.startswith('vitrine_execution_seconds_bucket{outcome="ok"')
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == samples['vitrine_execution_seconds_count{outcome="ok"}']


def test_counters_move(server: Server) -> None:
    before = server.metrics()
    session = server.create()
    session.run("1")
    session.run("1 / 0")
    session.run("print('x' * 3_000_000)")
    during = server.metrics()
    session.run("import os; os._exit(1)")
    session.delete()
    server.get("/nothing")
    after = server.metrics()

    def moved(name: str, later: dict[str, float] = after) -> float:
        return later.get(name, 0) - before.get(name, 0)

    assert moved("vitrine_sessions", during) == 1
    assert moved("vitrine_sessions") == 0
    created = [name for name in after if name.startswith("vitrine_sessions_created_total")]
    assert sum(moved(name) for name in created) == 1
    assert moved("vitrine_sessions_ended_total") == 1
    assert moved("vitrine_session_deaths_total") == 1
    assert moved("vitrine_output_truncated_total") == 1
    assert moved('vitrine_execution_seconds_count{outcome="ok"}') == 2
    assert moved('vitrine_execution_seconds_count{outcome="exception"}') == 1
    assert moved('vitrine_execution_seconds_count{outcome="crashed"}') == 1
    assert moved("vitrine_create_seconds_count") == 1
    assert moved('vitrine_http_requests_total{route="/v1/sessions/{id}/exec",status="200"}') == 4
    assert moved('vitrine_http_requests_total{route="none",status="404"}') == 1
    assert after["vitrine_front_resident_bytes"] > 1 << 20


def test_no_client_can_make_labels(server: Server) -> None:
    before = len(server.metrics())

    for n in range(50):
        server.get(f"/made-up-{n}")
        server.call("BREW", f"/v1/sessions/{n:032}")

    assert len(server.metrics()) <= before + 3


def test_info_tells_what_is_in_force(server: Server) -> None:
    info = server.info()

    assert info["version"]
    assert info["processes"]["keeper"] == server.process.pid
    assert info["processes"]["front"] != info["processes"]["keeper"]
    assert info["isolation"]["level"]
    assert {"memory", "processes", "cpu"} <= info["isolation"].keys()
    weak = [name for name in ("memory", "cpu") if info["isolation"][name] != "cgroup"]
    assert info["isolation"]["limits_level"] == ("best_effort" if weak else "enforced")
    assert len(info["isolation"]["best_effort"]) == len(weak)
    assert info["limits"]["memory_mb"] == 512
    assert info["environments"][0]["name"] == "default"
    assert info["python"].startswith("3.")
    assert "token" not in str(info).lower()


def test_the_front_has_its_own_user_and_no_capability(server: Server) -> None:
    with open(f"/proc/{server.front()}/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    with open(f"/proc/{server.process.pid}/status") as file:
        keeper = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    assert int(status["CapEff"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    if keeper["Uid"].split()[0] == "0":
        assert "0" not in status["Uid"].split()


def test_the_token_is_for_its_owner_only(server: Server) -> None:
    assert (server.data / "token").stat().st_mode & 0o777 == 0o600
    assert server.data.stat().st_mode & 0o777 == 0o700
    assert len(server.token) >= 32


def test_as_many_sessions_fit_as_the_capacity_says(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"groups": [{"rules": [{"add": 1}]}]}')
    for above in (tmp_path, *list(tmp_path.parents)[:2], rules):  # the front has its own uid
        above.chmod(0o755)
    server = start_server("--capacity", "3", "--pool", "2", front=("--reward", str(rules)))

    made = [server.create() for _ in range(3)]

    assert server.info()["sessions"] == server.info()["capacity"] == 3
    server.post("/v1/sessions", {}).is_problem(503, "no_capacity")
    assert [session.value("1 + 1") for session in made] == ["2"] * 3


def test_metrics_tell_the_capacity_and_the_restarts(start_server: Callable[..., Server]) -> None:
    server = start_server("--capacity", "77")
    assert server.info()["capacity"] == 77
    before = server.metrics()

    server.kill_front()

    assert before["vitrine_capacity"] == 77
    assert before["vitrine_front_restarts_total"] == 0
    assert server.metrics()["vitrine_front_restarts_total"] == 1


def test_loopback_needs_the_token_if_it_is_told_so(start_server: Callable[..., Server]) -> None:
    server = start_server(front=("--auth", "token"))

    assert server.get("/health").status == 200
    server.get("/v1/info").is_problem(401, "token_needed")
    server.post("/v1/run", {"code": "1"}).is_problem(401)
    assert server.post("/v1/run", {"code": "1"}, headers=server.authorised()).status == 200
