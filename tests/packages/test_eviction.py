# SPDX-License-Identifier: Apache-2.0
"""Layers that go while sessions come: never a session without its packages."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from served import Server
from shop import Shop
from test_packages import layers, run, value
from wheels import wheel


def test_a_layer_that_is_promised_is_not_removed(shop: Shop, serve: Callable[..., Server]) -> None:
    names = [f"vr_{number}" for number in range(4)]
    for name in names:
        wheel(shop.wheels, name)
    server = serve(budget_bytes=1)  # every installation removes what nobody uses

    def use(number: int) -> str:
        name = names[number % len(names)]
        return value(run(server, f"import {name}; {name}.version", packages=[name]))

    def prune(_: int) -> int:
        return server.post("/v1/packages/prune", {"keep_mb": 0}).status

    with ThreadPoolExecutor(8) as pool:
        pruned = pool.map(prune, range(40))
        used = list(pool.map(use, range(24)))

    assert used == ["'1.0'"] * 24
    assert set(pruned) == {200}


def test_a_layer_whose_files_are_gone_is_built_again(serve: Callable[..., Server]) -> None:
    server = serve()
    wish = {"code": "import vt_plain; vt_plain.version", "packages": ["vt-plain==2.0"]}
    assert server.post("/v1/run", wish).json["outcome"] == "ok"
    shutil.rmtree(server.data / "layers" / layers(server)["layers"][0]["id"])

    lost = server.post("/v1/run", wish)
    again = server.post("/v1/run", wish)

    lost.is_problem(503)
    assert "packages" in lost.json["detail"] and "try again" in lost.json["remedy"], lost
    assert again.json["results"] == [{"text/plain": "'2.0'"}], again
