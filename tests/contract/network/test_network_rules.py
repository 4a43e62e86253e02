# SPDX-License-Identifier: Apache-2.0
"""The rules of a session, and servers that have rules of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from origins import Origin
from served import Server

pytestmark = pytest.mark.needs("network")


@pytest.mark.parametrize(
    ("network", "about"),
    [
        ({}, "network.allow"),
        ({"allow": []}, "network.allow"),
        ({"allow": ["a.org"] * 65}, "network.allow"),
        ({"allow": ["*"]}, "would allow every host"),
        ({"allow": ["*.org"]}, "top-level domain"),
        ({"allow": ["http://a.org"]}, "no scheme"),
        ({"allow": ["127.1"]}, "127.1"),
        ({"allow": ["a.org:0"]}, "port"),
        ({"allow": [7]}, "not a string"),
        ({"allow": "a.org"}, "network.allow"),
        ({"allow": ["a.org"], "private": ["10.0.0.0/8"]}, "network.private"),
        ("a.org", "network"),
    ],
)
def test_rules_that_are_none_are_refused(server: Server, network: Any, about: str) -> None:
    for path, more in (("/v1/sessions", {}), ("/v1/run", {"code": "1"})):
        answer = server.post(path, {"network": network, **more}).is_problem(422)
        assert about in answer.json["detail"], answer


def test_a_server_may_let_nobody_out(start_server: Callable[..., Server]) -> None:
    server = start_server("--egress", "off")

    answer = server.post("/v1/sessions", {"network": {"allow": ["example.org"]}}).is_problem(422)

    assert "lets no session out" in answer.json["detail"]
    assert "--egress on" in answer.json["remedy"]
    assert server.info()["egress"] == {"on": False, "proxies": 0}
    assert server.create().value("1") == "1"


def test_names_are_looked_up_outside(start_server: Callable[..., Server]) -> None:
    server = start_server("--egress-allow-private", "127.0.0.1,::1")
    origin = Origin("127.0.0.1")
    session = server.create(network={"allow": [f"localhost:{origin.port}"]})

    execution = session.run(
        f"import requests; print(requests.get('http://LOCALHOST:{origin.port}/', timeout=30,\n"
        "proxies={'http': 'http://127.0.0.1:3128'}).text)",
        env={"NO_PROXY": "", "no_proxy": ""},
    )

    assert execution["stdout"] == "hello \n", execution
    assert execution["network"][0]["address"] in ("127.0.0.1", "::1")
    assert execution["network"][0]["host"] == "localhost"
    origin.server_close()


def test_an_ordinary_user_serves_networks_too(
    start_server: Callable[..., Server], origin: Origin
) -> None:
    if os.geteuid() != 0:
        pytest.skip("this process is an ordinary user's already")
    server = start_server("--egress-allow-private", "127.77.0.0/16", user=65534)
    session = server.create(network={"allow": [origin.name]})

    execution = session.run(
        f"import requests; print(requests.get('http://{origin.name}/', timeout=30).text)"
    )

    assert execution["stdout"] == "hello \n", execution
    assert server.stop() == (0, [])
