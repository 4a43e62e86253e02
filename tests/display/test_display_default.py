# SPDX-License-Identifier: Apache-2.0
"""/screenshot and /record on the default session: the REST of a sandbox that has one screen."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from screenshots import colour, is_blank, opened
from served import Answer, Server, Session, until

sys.path.append(str(Path(__file__).resolve().parents[1] / "screen"))

from encoder_client import close_to, watch

FRONT_UID = 536936448
RED = (
    "import tkinter\nr = tkinter.Tk()\nr.geometry('200x200+0+0')\nr.configure(bg='#ff0000')\n"
    "r.update()"
)


@pytest.fixture(autouse=True)
def no_default(server: Server) -> Iterator[None]:
    """Every test begins without a default session."""
    yield
    for id in server.listed():
        if server.get(f"/v1/sessions/{id}").json["name"] == "default":
            assert server.call("DELETE", f"/v1/sessions/{id}").status == 204


def picture(server: Server, query: str = "") -> Answer:
    answer = server.get("/screenshot" + query)
    assert answer.status == 200, answer
    return answer


def session_of(server: Server, answer: Answer) -> Session:
    return Session(server, server.get(f"/v1/sessions/{answer.headers['Vitrine-Session']}").json)


def test_the_default_session_is_made_when_it_is_first_needed(server: Server) -> None:
    first = picture(server)

    shown = first.json
    assert shown["screen_size"] == [1024, 768] and shown["media_type"] == "image/png"
    assert any("blank" in note for note in shown["notes"])
    assert is_blank(opened(base64.b64decode(shown["screenshot"], validate=True)))
    session = session_of(server, first)
    assert session.id == shown["session"] and session.show()["name"] == "default"
    session.run(RED)
    again = picture(server)
    assert again.headers["Vitrine-Session"] == session.id
    assert colour(opened(base64.b64decode(again.json["screenshot"])), 100, 100) == (255, 0, 0)
    assert server.get(shown["screenshot_path"]).headers["Content-Type"] == "image/png"


def test_a_session_named_default_is_the_default_one(
    server: Server, create: Callable[..., Session]
) -> None:
    session = create(name="default", display={"width": 320, "height": 240})
    session.run(RED)

    shown = picture(server, "?method=pillow&region=0,0,50,50").json

    assert shown["session"] == session.id and shown["screen_size"] == [320, 240]
    image = opened(base64.b64decode(shown["screenshot"]))
    assert image.size == (50, 50) and colour(image, 20, 20) == (255, 0, 0)


def test_who_accepts_a_picture_gets_one(server: Server) -> None:
    answer = server.get("/screenshot", headers={"Accept": "image/png"})

    assert answer.status == 200 and answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Vitrine-Session"] and opened(answer.body).size == (1024, 768)


def test_many_who_come_first_share_one_session(server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: picture(server).json["session"], range(8)))

    assert len(set(answers)) == 1


def test_a_dead_default_is_looked_at_and_replaced_for_a_recording(server: Server) -> None:
    session = session_of(server, picture(server))
    session.run("import os; os.kill(os.getpid(), 9)")

    assert picture(server).json["session"] == session.id
    started = server.get("/record?mode=start").json

    assert started["session"] != session.id and started["status"] == "recording"
    assert picture(server).json["session"] == started["session"]
    assert server.get("/record?mode=stop").json["status"] == "stopped"


def test_start_and_stop_give_a_film(server: Server, tmp_path: Path) -> None:
    started = server.get("/record?mode=start&fps=10")
    assert started.status == 200 and started.json["status"] == "recording", started
    again = server.get("/record?mode=start").json
    assert again["id"] == started.json["id"], "one that runs is not started again"
    session = session_of(server, started)
    session.run(RED + "\nimport time; time.sleep(1)")

    stopped = server.get("/record?mode=stop").json

    assert stopped["id"] == started.json["id"] and stopped["reason"] == "asked"
    assert stopped["status"] == "stopped" and stopped["fps"] == 10
    film = tmp_path / "film.mp4"
    film.write_bytes(server.get(stopped["screen_recording_file"]).body)
    assert close_to(watch(film).pixel(-1, 100, 100), (255, 0, 0))
    server.get("/record?mode=stop").is_problem(409, "not_recording")


def test_two_who_start_at_once_start_one(server: Server) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: server.get("/record?mode=start").json["id"], range(4)))

    assert len(set(found)) == 1
    assert server.get("/record?mode=stop").json["id"] == found[0]


def test_a_recording_that_has_ended_is_told_at_the_stop(server: Server) -> None:
    started = server.get("/record?mode=start&max_seconds=1").json
    below = f"/v1/sessions/{started['session']}/recordings"
    assert until(lambda: server.get(below).json["recordings"][0]["state"] == "ended")

    assert server.get("/record?mode=stop").json["reason"] == "time"


@pytest.mark.parametrize(
    "path",
    ["/record", "/record?mode=pause", "/record?mode=start&fps=0", "/record?mode=start&fps=x",
     "/record?mode=start&codec=mp4v", "/screenshot?method=scrot", "/screenshot?format=tiff"],
)  # fmt: skip
def test_what_is_refused_makes_no_session(server: Server, path: str) -> None:
    before = server.listed()

    server.get(path).is_problem(422, "invalid_field")

    assert server.listed() == before


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/screenshot", "/record?mode=start", "/record?mode=stop"])
def test_pages_elsewhere_cannot_make_a_browser_ask(server: Server, path: str, site: str) -> None:
    before = server.listed()

    server.get(path, headers={"Sec-Fetch-Site": site}).is_problem(403, "foreign_origin")

    assert server.listed() == before


def test_each_identity_has_its_own(start_server: Callable[..., Server], tmp_path: Path) -> None:
    tokens = {"ann": "a" * 40, "bob": "b" * 40}
    file = tmp_path / "tokens.json"
    entries: list[dict[str, Any]] = [
        {"name": name, "sha256": hashlib.sha256(token.encode()).hexdigest(), "sessions": 1}
        for name, token in tokens.items()
    ]
    file.write_text(json.dumps({"tokens": entries}))
    file.chmod(0o600)
    for directory in (tmp_path, *tmp_path.parents[:2]):
        directory.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(file, FRONT_UID, FRONT_UID)
    server = start_server(front=("--tokens", str(file)))

    def ask(name: str, path: str) -> Answer:
        return server.get(path, headers={"Authorization": f"Bearer {tokens[name]}"})

    ann, bob = ask("ann", "/screenshot").json["session"], ask("bob", "/screenshot").json["session"]
    assert ann != bob
    assert ask("ann", "/screenshot").json["session"] == ann
    ask("ann", "/record?mode=start")
    ask("bob", "/record?mode=stop").is_problem(409, "not_recording")
    # A quota that leaves no room for a default session is said, not exceeded.
    header = {"Authorization": f"Bearer {tokens['bob']}"}
    assert server.call("DELETE", f"/v1/sessions/{bob}", headers=header).status == 204
    assert server.post("/v1/sessions", {"name": "mine"}, headers=header).status == 201
    ask("bob", "/screenshot").is_problem(429)
