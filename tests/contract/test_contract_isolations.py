# SPDX-License-Identifier: Apache-2.0
"""What a server says of isolations, and how the contract's own tests choose among them."""

from __future__ import annotations

from collections.abc import Callable

import isolations
import pytest
from served import Server, Session


def test_a_session_says_in_which_isolation_it_is(
    create: Callable[..., Session], isolation: str
) -> None:
    assert create().show()["isolation"] == isolation


def test_the_server_lists_its_isolations_with_what_they_can_do(server: Server) -> None:
    listed = {
        one["name"]: set(one["capabilities"]) for one in server.get("/v1/info").json["isolations"]
    }

    assert set(listed) == set(isolations.ISOLATIONS)
    for name, capabilities in isolations.ISOLATIONS.items():
        assert listed[name] == capabilities


@pytest.mark.parametrize("name", ["wasm", "vm", "docker", ""])
def test_an_isolation_that_the_server_lacks_is_refused_with_a_remedy(
    server: Server, name: str
) -> None:
    before = server.get("/v1/sessions").json

    server.post("/v1/sessions", {"isolation": name}).is_problem(422)

    assert server.get("/v1/sessions").json == before, "something was started for it"


def test_a_one_shot_in_an_isolation_that_the_server_lacks_is_refused(server: Server) -> None:
    server.post("/v1/run", {"code": "1", "isolation": "vm"}).is_problem(422)


def test_a_capability_that_an_isolation_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(isolations.ISOLATIONS, "narrow", {"files"})

    assert isolations.missing("narrow", ("files",)) == []
    assert isolations.missing("narrow", ("files", "network", "display")) == ["display", "network"]


def test_a_capability_that_nobody_knows_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no capability"):
        isolations.missing("process", ("colour",))
