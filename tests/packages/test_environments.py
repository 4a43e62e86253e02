# SPDX-License-Identifier: Apache-2.0
"""Environments that an operator baked beside the image."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import BUILD, IMAGE, Server
from shop import Shop
from test_packages import run, value
from test_stories import Episode
from wheels import wheel

THREADS = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"


def vitrine(*words: str) -> subprocess.CompletedProcess[str]:
    program = str(BUILD / "bin" / "vitrine")
    return subprocess.run(
        [program, *words], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory, shop: Shop) -> Path:
    """The image by another name, so that what is baked lies beside this name."""
    place = shop.directory / "image-of-environments"
    place.mkdir(mode=0o755)
    image = place / "image"
    image.symlink_to(IMAGE.resolve())
    wheel(shop.wheels, "ve_heavy", files={"ve_heavy.py": "import time\nborn = time.time()\n"})
    wheel(shop.wheels, "ve_extra", requires=("ve_heavy",))
    wheel(shop.wheels, "ve_threads", files={"ve_threads.py": THREADS})
    for name, options in (
        ("heavy", ("--preload", "ve_heavy")),
        ("lazy", ()),
        ("broken", ("--preload", "ve_is_not_there")),
        ("threads", ("--with", "ve-threads", "--preload", "ve_threads")),
    ):
        made = bake(image, shop, "--with", "ve-heavy", "--name", name, *options)
        assert made.returncode == 0, made
    return image


def bake(image: Path, shop: Shop, *words: str) -> subprocess.CompletedProcess[str]:
    return vitrine("image", "build", "--image", str(image), "--find-links", str(shop.wheels),
                   "--no-index", *words)  # fmt: skip


@pytest.fixture(scope="module")
def server(shop: Shop, image: Path) -> Iterator[Server]:
    one = shop.serve(image=image)
    yield one
    one.end()


def test_a_session_has_the_environment_it_chose(server: Server) -> None:
    born = "import sys\n've_heavy' in sys.modules"
    assert value(run(server, born, environment="heavy")) == "True", "imported before the fork"
    assert value(run(server, born, environment="lazy")) == "False"
    assert value(run(server, "import ve_heavy; ve_heavy.__file__", environment="lazy")) == (
        "'/usr/local/lib/vitrine-packages/ve_heavy.py'"
    )
    plain = run(server, "import ve_heavy")
    assert plain["error"]["name"] == "ModuleNotFoundError", "others do not see it"


def test_it_stays_over_a_reset_and_a_new_front(server: Server) -> None:
    session = server.create(environment="heavy", seed=7)
    assert session.show()["environment"] == "heavy"

    session.call("POST", "/reset", {})

    assert value(session.run("import ve_heavy; 1")) == "1"
    server.kill_front()
    assert value(session.run("import ve_heavy; 2")) == "2"
    session.delete()


def test_packages_come_on_top_of_it(server: Server) -> None:
    code = "import ve_extra, ve_heavy, vt_plain; vt_plain.version"
    wish = {"environment": "heavy", "packages": ["ve-extra", "vt-plain"]}
    assert value(run(server, code, **wish)) == "'2.0'"
    newest = server.get("/v1/packages").json["layers"][-1]
    assert newest["packages"] == ["ve-extra==1.0", "vt-plain==2.0"], "what it has is left out"
    session = server.create(environment="lazy")
    more = session.run("%pip install vt-plain==1.0\nimport vt_plain, ve_heavy; 1", timeout_s=60)
    assert value(more) == "1"
    session.delete()


def test_a_name_that_does_not_exist_is_refused_with_those_that_do(server: Server) -> None:
    for path in ("/v1/sessions", "/v1/run"):
        body = {"environment": "heavi", **({"code": "1"} if path == "/v1/run" else {})}
        problem = server.post(path, body).is_problem(400, "unknown_environment").json
        assert "heavy" in problem["remedy"] and "lazy" in problem["remedy"]
    assert server.post("/v1/run", {"code": "1", "environment": "default"}).status == 200
    for name in ("../heavy", "heavy/..", "Heavy", "x" * 65):
        assert server.post("/v1/run", {"code": "1", "environment": name}).status in (400, 422)


@pytest.mark.parametrize(
    ("name", "why"),
    [("broken", "No module named 've_is_not_there'"), ("threads", "starts threads")],
)
def test_one_that_cannot_be_loaded_is_an_error_and_harms_nobody(
    server: Server, name: str, why: str
) -> None:
    answer = server.post("/v1/run", {"code": "1", "environment": name})

    answer.is_problem(503)
    assert "environment" in answer.json["detail"], answer
    assert why in server.read_log()
    assert value(run(server, "6 * 7", environment="heavy")) == "42"


def test_they_are_shown(server: Server, image: Path) -> None:
    known = {one["name"]: one for one in server.info()["environments"]}
    assert known["heavy"]["preload"] == ["ve_heavy"] and "default" in known
    told = json.loads(vitrine("image", "info", "--image", str(image), "--json").stdout)
    assert told["environments"]["lazy"]["packages"] == {"ve-heavy": "1.0"}
    assert "environment    heavy" in vitrine("image", "info", "--image", str(image)).stdout


def test_without_root_it_is_the_same(shop: Shop, image: Path) -> None:
    server = shop.serve(image=image, user=65534)
    try:
        code = "import sys; 've_heavy' in sys.modules"
        assert value(run(server, code, environment="heavy")) == "True"
        more = run(server, "import vt_plain, ve_heavy; 1", environment="heavy",
                   packages=["vt-plain"])  # fmt: skip
        assert value(more) == "1"
        write = "open('/usr/local/lib/vitrine-packages/ve_heavy.py', 'a')"
        assert run(server, write, environment="heavy")["error"]["name"] == "OSError"
    finally:
        server.end()


def test_what_is_in_use_is_not_replaced(server: Server, image: Path, shop: Shop) -> None:
    again = bake(image, shop, "--with", "ve-heavy", "--name", "heavy")
    assert again.returncode == 1 and "stop it first" in again.stderr, again


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--with", "ve-nothing"), "ve-nothing"),
        (("--with", "ve-heavy", "--name", "../up"), "no name"),
        (("--with", "ve-heavy", "--preload", "os;x"), "not the name of a module"),
        (("--with", "--index-url=x"), "no requirement"),
        (("--with", "vt-old-numpy", "--name", "old"), "uv could not get"),
    ],
)
def test_what_cannot_be_baked_is_refused_and_leaves_nothing(
    image: Path, shop: Shop, words: tuple[str, ...], why: str
) -> None:
    before = sorted(one.name for one in Path(f"{image}.environments").iterdir() if one.is_dir())

    made = bake(image, shop, *words)

    assert made.returncode != 0 and why in made.stderr, made
    after = sorted(one.name for one in Path(f"{image}.environments").iterdir() if one.is_dir())
    assert after == before


def test_an_episode_has_the_environment_that_its_reset_names(server: Server) -> None:
    born = "import sys; print('ve_heavy' in sys.modules)"
    episode = Episode(server)

    status, answer = episode.post("/reset", {"environment": "heavy"})

    assert status == 200, answer
    assert episode.step(born) == "True\n"
    status, answer = episode.post(
        "/reset", {"environment": "lazy", "additional_imports": ["vt-plain"]}
    )
    assert status == 200, answer
    assert episode.step("import ve_heavy, vt_plain; print(vt_plain.version)") == "2.0\n"
    episode.post("/reset", {"environment": "default"})
    assert "ModuleNotFoundError" in episode.step("import ve_heavy")


@pytest.mark.parametrize("name", ["heavi", "../heavy", "Heavy", "x" * 300, 7])
def test_a_reset_that_names_none_is_refused_with_those_there_are(
    server: Server, name: object
) -> None:
    status, answer = Episode(server).post("/reset", {"environment": name})

    assert status == 422, answer
    assert answer["detail"][0]["loc"] == ["body", "environment"]
    if name == "heavi":
        assert "heavy" in answer["detail"][0]["msg"] and "lazy" in answer["detail"][0]["msg"]
