# SPDX-License-Identifier: Apache-2.0
"""How many installations of packages an identity may begin."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from served import Answer, Background, Server, within
from shop import Shop
from test_hostile_index import HOST, Index
from wheels import wheel

FRONT_UID = 536936448
SECRETS = {name: f"{name}-secret-0123456789abcdef" for name in ("one", "hourly", "greedy")}
TOKENS = {
    "tokens": [
        {"name": "one", "token": SECRETS["one"], "installations": 1},
        {"name": "hourly", "token": SECRETS["hourly"], "installations_per_hour": 2},
        {"name": "greedy", "token": SECRETS["greedy"], "installations": 6},
    ]
}


def ask(server: Server, name: str, package: str) -> Answer:
    headers = {"Authorization": f"Bearer {SECRETS[name]}"}
    return server.post("/v1/run", {"code": "1", "packages": [package]}, headers=headers)


@pytest.fixture
def tokens(shop: Shop) -> Path:
    file = shop.directory / "tokens.json"
    file.write_text(json.dumps(TOKENS))
    file.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(file, FRONT_UID, FRONT_UID)
    return file


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = [wheel(tmp_path, f"vq_{number}") for number in range(9)]
    one = Index({path.name: path.read_bytes() for path in made})
    yield one
    one.close()


def test_those_of_an_hour_are_counted_and_what_is_there_is_free(
    serve: Callable[..., Server], tokens: Path
) -> None:
    server = serve(front=("--tokens", str(tokens)))
    assert ask(server, "hourly", "vt-plain==1.0").status == 200
    assert ask(server, "hourly", "vt-plain==2.0").status == 200

    refused = ask(server, "hourly", "vt-needs").is_problem(429, "installations_limited")

    assert 1 <= int(refused.headers["Retry-After"]) <= 1800
    assert ask(server, "hourly", "vt-plain==1.0").status == 200, "it is installed already"
    assert ask(server, "one", "vt-needs").status == 200, "others have quotas of their own"
    assert ask(server, "hourly", "vt-needs").status == 200


def test_those_at_once_are_counted(index: Index, shop: Shop, tokens: Path) -> None:
    options = ("--egress-allow-private", f"{HOST}/32")
    server = shop.serve(options=options, index_url=index.url, find_links=0,
                        front=("--tokens", str(tokens)))  # fmt: skip
    headers = {"Authorization": f"Bearer {SECRETS['one']}"}
    answer = server.post("/v1/sessions", {"imports": ["dataclass"]}, headers=headers)
    session = answer.json["id"]
    index.stalls.set()
    first = Background(lambda: ask(server, "one", "vq-0"))
    assert within(lambda: index.asked), "the installation does not begin"

    refused = ask(server, "one", "vq-1").is_problem(429, "quota_installations")
    inside = server.post(f"/v1/sessions/{session}/exec", {"code": "%pip install vq-2"},
                         headers=headers).json  # fmt: skip

    assert int(refused.headers["Retry-After"]) >= 1
    assert inside["error"]["name"] == "PackageError", inside
    assert "1 installations of packages at once" in inside["error"]["value"], inside
    index.stalls.clear()
    index.over.set()
    assert first.result().status == 200
    assert ask(server, "one", "vq-1").status == 200, "it may again when the first is done"
    server.end()


def test_who_asks_for_many_keeps_nobody_else_waiting(
    index: Index, shop: Shop, tokens: Path
) -> None:
    options = ("--egress-allow-private", f"{HOST}/32")
    server = shop.serve(options=options, index_url=index.url, find_links=0,
                        front=("--tokens", str(tokens)))  # fmt: skip

    def crowd(name: str, packages: range) -> list[Background]:
        """One more than may be: when that one is refused, the others are in line."""
        asked = [Background(lambda p=p: ask(server, name, f"vq-{p}")) for p in packages]
        assert within(lambda: any(one.is_over() for one in asked)), "nobody is refused"
        return asked

    def pages() -> list[str]:
        """The packages in the order in which their installations began."""
        asked = dict.fromkeys(index.asked)
        return [path.split("/")[2] for path in asked if path.startswith("/simple/")]

    index.stalls.set()
    many = crowd("greedy", range(7))
    assert within(lambda: len(pages()) == 2), "two are installed at once"
    few = crowd("one", range(7, 9))
    index.released.add(pages()[0])  # one alone: the ends of two would start two at once

    assert within(lambda: len(pages()) == 3), "nothing follows the first installation"
    assert pages()[2] in {"vq-7", "vq-8"}, pages()
    index.over.set()
    assert sorted(one.result().status for one in many) == [200] * 6 + [429]
    assert sorted(one.result().status for one in few) == [200, 429]
    server.end()
