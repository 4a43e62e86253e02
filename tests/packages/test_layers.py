# SPDX-License-Identifier: Apache-2.0
"""One installation after another in one session: each adds a layer with what is new."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from served import Server
from shop import Shop
from test_packages import layers
from wheels import wheel

SIZE = 300_000


@pytest.fixture(scope="module", autouse=True)
def many(shop: Shop) -> None:
    for number in range(40):
        name = f"vl_{number}"
        wheel(shop.wheels, name, files={f"{name}.py": "", f"{name}.bin": os.urandom(SIZE)})
    wheel(shop.wheels, "vl_both", requires=("vl_0", "vl_1", "vl_39"))


def size_of(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def contents(server: Server) -> list[list[str]]:
    return sorted(sorted(layer["packages"]) for layer in layers(server)["layers"])


def pins(server: Server, session: Any) -> list[str]:
    return list(server.get(f"/v1/sessions/{session.id}").json["packages"])


def test_ten_installations_take_the_disk_of_what_is_new_and_no_longer_each(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    session = server.create()
    times = []

    for number in range(10):
        began = time.monotonic()
        done = session.run(f"%pip install vl-{number}\nimport vl_{number}\n1")
        times.append(time.monotonic() - began)
        assert done["outcome"] == "ok", done
        assert done["stdout"] == f"Successfully installed vl-{number}-1.0\n", "only what is new"

    assert contents(server) == [[f"vl-{number}==1.0"] for number in range(10)]
    assert size_of(server.data / "layers") < 10 * SIZE * 1.2
    assert times[9] < max(times[1:4]) * 2, times
    assert pins(server, session) == [f"vl-{number}==1.0" for number in range(10)]
    assert session.value("import vl_0, vl_5, vl_9; 1") == "1"


def test_packages_below_are_not_installed_again_for_what_needs_them(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    session = server.create(packages=["vl-0"])

    session.run("%pip install vl-both")

    assert contents(server) == [["vl-0==1.0"], ["vl-1==1.0", "vl-39==1.0", "vl-both==1.0"]]


def test_a_layer_is_shared_by_sessions_that_have_other_packages(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    first, second = server.create(packages=["vl-0"]), server.create(packages=["vl-1"])

    first.run("%pip install vl-2")
    second.run("%pip install vl-2")
    third = server.create(packages=["vl-2"])

    assert layers(server)["installations"] == 3
    assert all(one.value("import vl_2; 1") == "1" for one in (first, second, third))


def test_a_known_request_is_joined_without_asking_the_index(serve: Callable[..., Server]) -> None:
    server = serve()
    server.create(packages=["vl-3"])
    session = server.create(packages=["vl-4"])

    began = time.monotonic()
    done = session.run("%pip install vl-3\nimport vl_3, vl_4\n1")
    took = time.monotonic() - began

    assert done["outcome"] == "ok" and took < 0.5, (done, took)
    assert layers(server)["installations"] == 2


def test_all_layers_survive_resets_and_a_new_front(serve: Callable[..., Server]) -> None:
    server = serve()
    session = server.create(packages=["vl-0"])
    session.run("%pip install vl-1")
    code = "import vl_0, vl_1; 1"

    for files in ("wipe", "keep"):
        assert session.call("POST", "/reset", {"files": files}).status == 200
        assert session.value(code) == "1"
    server.kill_front()
    assert pins(server, session) == ["vl-0==1.0", "vl-1==1.0"]
    session.run("%pip install vl-2")
    assert session.call("POST", "/reset", {}).status == 200
    assert session.value("import vl_0, vl_1, vl_2; 1") == "1"


def test_layers_of_a_session_are_not_evicted(serve: Callable[..., Server]) -> None:
    server = serve(budget_bytes=1)  # every installation removes what nobody uses
    session = server.create(packages=["vl-0"])
    session.run("%pip install vl-1")
    server.create(packages=["vl-2"]).delete()

    assert server.post("/v1/packages/prune", {"keep_mb": 0}).json["removed"] == 1
    assert session.call("POST", "/reset", {}).status == 200
    assert session.value("import vl_0, vl_1; 1") == "1"


def test_beyond_the_limit_layers_are_merged_into_one(serve: Callable[..., Server]) -> None:
    server = serve()
    session = server.create()
    for number in range(33):
        done = session.run(f"%pip install -q vl-{number}")
        assert done["outcome"] == "ok", (number, done)

    everything = [f"vl-{number}==1.0" for number in range(33)]
    assert sorted(pins(server, session)) == sorted(everything)
    assert sorted(everything) in contents(server)
    assert session.value("import vl_0, vl_31, vl_32; 1") == "1"
    mounts = "len([l for l in open('/proc/self/mountinfo') if 'vitrine-packages' in l])"
    assert session.call("POST", "/reset", {}).status == 200
    assert session.value(mounts) == "1"


def test_another_version_takes_the_place_of_the_first(serve: Callable[..., Server]) -> None:
    session = serve().create(packages=["vt-plain==1.0", "vt-script"])

    done = session.run("%pip install vt-plain==2.0\nimport vt_plain, vt_script; vt_plain.version")

    assert done["results"] == [{"text/plain": "'2.0'"}], done
    code = "import importlib.metadata as m; [d.version for d in m.distributions(name='vt_plain')]"
    assert session.value(code) == "['2.0']", "nothing of the first is left"
    held = session.run("%pip install vt-needs")
    assert held["error"]["name"] == "PackageError", "needs vt-plain<2, which nobody named"
