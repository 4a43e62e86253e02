# SPDX-License-Identifier: Apache-2.0
"""What people fought with before: typos sent to pip, modules refused, containers built anew."""

from __future__ import annotations

import http.client
import json
import subprocess
from collections.abc import Callable
from typing import Any

from served import BUILD, Server
from shop import Shop
from wheels import sdist

BALL = """
from dataclasses import dataclass, field
from typing import List

@dataclass
class Ball:
    x: float
    y: float
    speed: float = 2.0
    trail: List[float] = field(default_factory=list)

    def __post_init__(self):
        self.trail.append(self.x)

    def move(self):
        self.x += self.speed
        self.trail.append(self.x)

ball = Ball(1.0, 2.0)
ball.move()
print(ball)
"""


class Episode:
    """An OpenEnv client over plain HTTP: a cookie is its environment."""

    def __init__(self, server: Server) -> None:
        self.connection: http.client.HTTPConnection = server.connection(120)
        self.cookie = ""

    def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        headers = {"Content-Type": "application/json"}
        if self.cookie:
            headers["Cookie"] = self.cookie
        self.connection.request("POST", path, json.dumps(body), headers)
        response = self.connection.getresponse()
        self.cookie = (response.headers["Set-Cookie"] or self.cookie).split(";")[0]
        return response.status, dict(json.loads(response.read()))

    def step(self, code: str) -> str:
        status, answer = self.post("/step", {"action": {"code": code}})
        assert status == 200, answer
        return str(answer["observation"]["stdout"] or answer["observation"]["stderr"])


def test_the_program_that_began_it_all(server: Server) -> None:
    session = server.create(imports=["dataclass", "typing"])

    execution = session.run(BALL)

    assert execution["stdout"] == "Ball(x=3.0, y=2.0, speed=2.0, trail=[1.0, 3.0])\n", execution
    assert session.shown["notes"] == ["dataclass -> dataclasses"]
    session.delete()


def test_an_episode_has_what_its_reset_asked_for(server: Server) -> None:
    episode = Episode(server)

    status, answer = episode.post(
        "/reset", {"additional_imports": ["dataclass", "typing", "vt-plain"]}
    )

    assert status == 200, answer
    assert episode.step("import vt_plain; print(vt_plain.version)") == "2.0\n"
    assert episode.step(BALL).startswith("Ball(x=3.0")


def test_an_episode_may_have_packages_built(shop: Shop, server: Server) -> None:
    sdist(shop.wheels, "vs_episode")
    episode = Episode(server)

    refused, _ = episode.post("/reset", {"additional_imports": ["vs-episode"]})
    wrong, _ = episode.post("/reset", {"additional_imports": ["vs-episode"], "allow_sdist": "yes"})
    status, answer = episode.post(
        "/reset", {"additional_imports": ["vs-episode"], "allow_sdist": True}
    )

    assert (refused >= 400, wrong, status) == (True, 422, 200), answer
    assert episode.step("import vs_episode; print(vs_episode.version)") == "1.0\n"


def test_a_reset_that_asks_for_nonsense_is_refused(server: Server) -> None:
    status, _ = Episode(server).post("/reset", {"additional_imports": "numpy"})
    assert status == 422


def test_the_servers_variable_names_what_every_episode_has(serve: Callable[..., Server]) -> None:
    server = serve(imports=["dataclass", "vt-plain==1.0"])  # as ADDITIONAL_IMPORTS is written down
    episode = Episode(server)

    episode.post("/reset", {})

    assert episode.step("import vt_plain; print(vt_plain.version)") == "1.0\n"
    assert server.create().run("import vt_plain")["outcome"] == "exception", "others do not"


def vitrine(server: Server, *words: str) -> subprocess.CompletedProcess[str]:
    program = str(BUILD / "bin" / "vitrine")
    command = [program, *words, "--url", f"http://127.0.0.1:{server.port}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_line_installs_lists_and_prunes(serve: Callable[..., Server]) -> None:
    server = serve()

    done = vitrine(server, "run", "--with", "vt-plain==1.0", "-c", "import vt_plain; print(1)")
    assert (done.returncode, done.stdout) == (0, "1\n"), done
    assert "packages: " in done.stderr
    refused = vitrine(server, "run", "--with", "vt-nowhere", "-c", "1")
    assert refused.returncode == 2 and "vt-nowhere" in refused.stderr, refused
    assert vitrine(server, "packages", "warm", "vt-script").stdout == "vt-script==1.0\n"
    assert "vt-plain==1.0" in vitrine(server, "packages", "list").stdout
    assert vitrine(server, "packages", "prune").stdout.startswith("2 removed")
