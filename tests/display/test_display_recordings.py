# SPDX-License-Identifier: Apache-2.0
"""Recordings over HTTP: films that others can play, that outlive session and front, and their owners."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "screen"))

from encoder_client import Film, close_to, watch
from served import Answer, Server, Session, family, until, within

RED, GREEN, BLUE, ROOT = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0x20, 0x24, 0x2B)
WINDOW = (
    "import tkinter, time\nr = tkinter.Tk()\nr.geometry('200x200+0+0')\n"
    "def paint(colour):\n r.configure(bg=colour); r.update()\n"
)
FRONT_UID = 536936448


class Recording:
    def __init__(self, session: Session, **wish: Any) -> None:
        answer = session.call("POST", "/recordings", wish)
        assert answer.status == 201, answer
        self.session, self.shown = session, answer.json
        self.path = f"/recordings/{self.shown['id']}"
        assert answer.headers["Location"] == session.path + self.path

    def stop(self) -> dict[str, Any]:
        answer = self.session.call("POST", self.path + "/stop")
        assert answer.status == 200, answer
        return dict(answer.json)

    def get(self, **headers: str) -> Answer:
        return self.session.call("GET", self.path, headers=headers)

    def now(self) -> dict[str, Any]:
        rows = self.session.call("GET", "/recordings").json["recordings"]
        return dict(next(row for row in rows if row["id"] == self.shown["id"]))

    def ended(self) -> dict[str, Any]:
        assert within(lambda: self.now()["state"] == "ended"), self.now()
        return self.now()

    def has_recorded(self, seconds: float) -> None:
        assert within(lambda: self.now()["seconds"] >= seconds), self.now()

    def film(self, directory: Path) -> Film:
        answer = self.get()
        assert answer.status == 200, answer
        file = directory / f"{self.shown['id']}.{self.shown['format']}"
        file.write_bytes(answer.body)
        return watch(file)


def encoders(server: Server) -> list[int]:
    found = []
    for pid, _ in family(server.process.pid):
        try:
            if Path(f"/proc/{pid}/comm").read_text().strip() == "vitrine-encoder":
                found.append(pid)
        except OSError:
            continue
    return found


def shows(film: Film, colour: tuple[int, ...], x: int = 100, y: int = 100) -> bool:
    return any(close_to(film.pixel(n, x, y), colour, 24) for n in range(len(film.frames)))


def red_then_blue(session: Session) -> None:
    assert session.run(WINDOW + "paint('#ff0000'); time.sleep(.6)")["outcome"] == "ok"
    assert session.run("paint('#0000ff'); time.sleep(.6)")["outcome"] == "ok"


@pytest.mark.parametrize(
    ("form", "kind"),
    [("mp4", "video/mp4"), ("webm", "video/webm"), ("gif", "image/gif"), ("apng", "image/apng")],
)
def test_a_film_shows_what_the_screen_showed(
    session: Session, tmp_path: Path, form: str, kind: str
) -> None:
    recording = Recording(session, format=form)
    assert recording.shown["state"] == "recording" and recording.shown["reason"] is None
    recording.has_recorded(0.1)  # the encoder has begun
    red_then_blue(session)

    stopped = recording.stop()
    answer = recording.get()
    film = recording.film(tmp_path)

    assert stopped["state"] == "ended" and stopped["reason"] == "asked", stopped
    assert stopped["frames"] >= 3 and stopped["seconds"] >= 1.2
    assert stopped["bytes"] == len(answer.body)
    assert answer.headers["Content-Type"] == kind
    assert f'.{form}"' in answer.headers["Content-Disposition"]
    x = 100 * film.width // 1024
    assert shows(film, RED, x, x) and shows(film, BLUE, x, x)
    assert recording.stop() == stopped, "again: nothing happens"
    assert session.call("DELETE", recording.path).status == 204
    recording.get().is_problem(404, "not_found")
    assert session.call("GET", "/recordings").json == {"recordings": []}


def test_it_starts_the_screen_and_can_be_read_in_parts_while_it_grows(
    session: Session, tmp_path: Path
) -> None:
    recording = Recording(session)
    recording.has_recorded(2)

    growing = recording.film(tmp_path)
    recording.stop()
    whole = recording.get()
    part = recording.get(Range="bytes=4-7")

    assert growing.frames and shows(growing, ROOT)
    assert part.status == 206 and part.body == whole.body[4:8] == b"ftyp"
    assert part.headers["Content-Range"] == f"bytes 4-7/{len(whole.body)}"
    recording.get(Range=f"bytes={len(whole.body)}-").is_problem(416, "range_not_satisfiable")


def test_a_gif_has_no_bytes_before_its_end(session: Session) -> None:
    recording = Recording(session, format="gif")

    recording.get().is_problem(409, "still_recording")
    recording.stop()

    assert recording.get().body.startswith(b"GIF8")


@pytest.mark.parametrize(
    "wish",
    [{"fps": 0}, {"fps": 1000}, {"fps": 1.5}, {"format": "avi"}, {"max_seconds": 3601},
     {"max_seconds": 0}, {"max_mb": 0}, {"max_mb": 1 << 40}, {"speed": 1}],
)  # fmt: skip
def test_wishes_that_are_refused(session: Session, wish: dict[str, Any]) -> None:
    session.call("POST", "/recordings", wish).is_problem(422, "invalid_field")


def test_it_ends_by_itself_after_its_time(session: Session, tmp_path: Path) -> None:
    recording = Recording(session, max_seconds=1)

    ended = recording.ended()

    assert ended["reason"] == "time" and ended["seconds"] >= 0.9
    assert recording.film(tmp_path).frames


def test_two_sessions_at_once_each_have_their_own(
    create: Callable[..., Session], tmp_path: Path
) -> None:
    one, other = create(), create()
    first, second, third = Recording(one), Recording(other), Recording(one, format="webm")
    one.run(WINDOW + "paint('#ff0000'); time.sleep(.3)")
    other.run(WINDOW + "paint('#0000ff'); time.sleep(.3)")
    for recording in (first, second, third):
        recording.stop()

    red, blue, also_red = (each.film(tmp_path) for each in (first, second, third))

    assert shows(red, RED) and not shows(red, BLUE)
    assert shows(blue, BLUE) and not shows(blue, RED)
    assert shows(also_red, RED) and not shows(also_red, BLUE)
    other.call("GET", first.path).is_problem(404, "not_found")


def test_a_film_outlives_its_session(
    server: Server, create: Callable[..., Session], tmp_path: Path
) -> None:
    session = create()
    recording = Recording(session)
    red_then_blue(session)

    assert session.delete().status == 204

    assert recording.ended()["reason"] == "session_ended"
    assert shows(recording.film(tmp_path), BLUE)
    assert until(lambda: not encoders(server))
    session.call("POST", "/recordings").is_problem(404, "not_found")
    assert session.call("DELETE", recording.path).status == 204
    session.call("GET", "/recordings").is_problem(404, "not_found")


def test_it_ends_with_its_screen(session: Session, tmp_path: Path) -> None:
    recording = Recording(session)
    session.run(WINDOW + "paint('#ff0000'); time.sleep(.3)")

    assert session.call("POST", "/reset", {}).status == 200

    assert recording.ended()["reason"] == "display_ended"
    assert shows(recording.film(tmp_path), RED)


def test_a_recording_goes_on_when_the_front_is_killed(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server()
    session = server.create()
    recording = Recording(session)
    red_then_blue(session)
    recording.has_recorded(2)

    server.kill_front()

    assert recording.now()["state"] == "recording", recording.now()
    session.run("paint('#00ff00')")
    before = recording.now()["seconds"]
    recording.has_recorded(before + 2)
    stopped = recording.stop()
    assert stopped["reason"] == "asked", stopped
    assert until(lambda: not encoders(server))
    film = recording.film(tmp_path)
    assert shows(film, RED) and shows(film, BLUE) and shows(film, GREEN)
    assert max(b - a for a, b in pairwise(film.times)) < 1.5, "there is a gap"
    files = list((server.data / "recordings").iterdir())
    assert [file.name for file in files] == [f"{recording.shown['id']}.mp4"]
    assert files[0].stat().st_mode & 0o777 == 0o600
    again = Recording(session)
    assert again.stop()["reason"] == "asked", "another one works"


def test_one_that_ends_while_there_is_no_front_tells_the_next_one_why(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server()
    session = server.create()
    recording = Recording(session, max_seconds=3)
    recording.has_recorded(1)
    front = server.front()
    os.kill(front, signal.SIGSTOP)
    assert within(lambda: not encoders(server)), "it does not end in time"

    os.kill(front, signal.SIGKILL)
    server.wait_for_front(front)

    shown = recording.ended()
    assert (shown["reason"], shown["seconds"]) == ("time", 3), shown
    assert recording.film(tmp_path).times[-1] >= 2.9


def test_films_outlive_the_server_and_strays_are_removed(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    directory = tmp_path / "server"
    directory.mkdir()
    os.chmod(tmp_path, 0o755)
    for parent in tmp_path.parents:
        if parent != Path("/tmp") and parent.is_relative_to("/tmp"):
            os.chmod(parent, 0o755)
    first = start_server(directory=directory)
    session = first.create()
    recording = Recording(session)
    recording.has_recorded(1)
    assert first.stop() == (0, [])
    stray = directory / "data" / "recordings" / "stray.mp4"
    stray.write_bytes(b"never told to anybody")

    second = start_server(directory=directory)
    session.server = second
    shown = recording.now()

    assert shown["state"] == "ended" and shown["reason"] == "server_stopped", shown
    assert recording.film(tmp_path).frames
    assert not stray.exists()


def test_the_oldest_films_make_room(start_server: Callable[..., Server]) -> None:
    server = start_server(front=("--recordings-mb", "1"))
    session = server.create()
    session.call("POST", "/recordings", {"max_mb": 2}).is_problem(422, "invalid_field")
    noise = (
        "import tkinter, os, time\nr = tkinter.Tk()\nr.geometry('600x600+0+0')\n"
        "l = tkinter.Label(r); l.pack()\nend = time.time() + 2\nwhile time.time() < end:\n"
        " d = b'P6 600 600 255 ' + os.urandom(600*600*3)\n"
        " p = tkinter.PhotoImage(data=d); l.configure(image=p); r.update()\nr.destroy()"
    )
    made = []
    for _ in range(3):
        recording = Recording(session, max_mb=1)
        assert session.run(noise)["outcome"] == "ok"
        made.append(recording)
        recording.stop()

    left = session.call("GET", "/recordings").json["recordings"]

    assert left and left[-1]["id"] == made[-1].shown["id"]
    assert made[0].shown["id"] not in [one["id"] for one in left]
    assert sum(one["bytes"] for one in left) <= 1 << 20
    assert len(list((server.data / "recordings").iterdir())) == len(left)


def test_nobody_else_finds_a_film(start_server: Callable[..., Server], tmp_path: Path) -> None:
    secrets = {name: f"{name}-secret-0123456789abcdef" for name in ("a", "b")}
    directory = tmp_path / "server"
    directory.mkdir()
    for place in (tmp_path, *tmp_path.parents):
        if place != Path("/tmp") and place.is_relative_to("/tmp"):
            os.chmod(place, 0o755)
    tokens = directory / "tokens.json"
    listed = [{"name": name, "token": secret} for name, secret in secrets.items()]
    tokens.write_text(json.dumps({"tokens": listed}))
    tokens.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(tokens, FRONT_UID, FRONT_UID)
    server = start_server(directory=directory, front=("--tokens", str(tokens), "--auth", "token"))

    def call(who: str, method: str, path: str, body: Any = None) -> Answer:
        token = secrets.get(who, server.token)
        return server.call(method, path, body, headers={"Authorization": f"Bearer {token}"})

    session = "/v1/sessions/" + str(call("a", "POST", "/v1/sessions", {}).json["id"])
    films = [call("a", "POST", session + "/recordings", {}) for _ in range(5)]
    assert [one.status for one in films] == [201, 201, 201, 201, 429]
    films[4].is_problem(429, "too_many_recordings")
    film = films[0].headers["Location"]
    unknown = call("b", "GET", "/v1/sessions/" + "0" * 32 + "/recordings").is_problem(404)
    for _ in range(2):  # while the session lives, and after
        for method, path in [
            ("GET", film), ("DELETE", film), ("POST", film + "/stop"),
            ("GET", session + "/recordings"), ("POST", session + "/recordings"),
        ]:  # fmt: skip
            assert call("b", method, path).is_problem(404).body == unknown.body, path
        assert call("a", "DELETE", session).status in (204, 404)

    rows = call("owner", "GET", session + "/recordings").json["recordings"]
    assert len(rows) == 4
    assert call("a", "GET", film).status == 200


def test_recordings_end_with_a_clean_stop_and_leave_no_process(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    recording = Recording(server.create())
    recording.has_recorded(1)
    assert len(encoders(server)) == 1

    assert server.stop() == (0, [])


def test_a_deleted_recording_ends(server: Server, session: Session) -> None:
    recording = Recording(session)

    assert session.call("DELETE", recording.path).status == 204

    assert until(lambda: not encoders(server))
    assert not list((server.data / "recordings").glob(f"{recording.shown['id']}*"))
    session.call("POST", recording.path + "/stop").is_problem(404, "not_found")


def test_there_are_not_too_many(server: Server, session: Session) -> None:
    made = []
    while (answer := session.call("POST", "/recordings", {"fps": 1})).status == 201:
        made.append(f"/recordings/{answer.json['id']}")

    assert len(made) == 16
    answer.is_problem(503, "no_capacity")
    assert answer.headers["Retry-After"]
    for path in made:
        assert session.call("DELETE", path).status == 204
    assert until(lambda: not encoders(server))


def test_an_encoder_that_ignores_the_stop_is_killed(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server()
    session = server.create()
    recording = Recording(session, fps=10)
    session.run(WINDOW + "paint('#ff0000')")
    recording.has_recorded(3)
    (pid,) = [
        pid
        for pid, _ in family(server.process.pid)
        if Path(f"/proc/{pid}/cmdline").read_text().startswith("vitrine-encoder\0")
    ]

    os.kill(pid, signal.SIGSTOP)
    stopped = recording.stop()

    assert stopped["state"] == "ended" and stopped["reason"] == "encoder_stuck", stopped
    assert until(lambda: pid not in {one for one, _ in family(server.process.pid)})
    assert close_to(recording.film(tmp_path).pixel(-1, 100, 100), RED)
    metrics = server.metrics()
    assert metrics['vitrine_recordings_ended_total{reason="encoder_stuck"}'] == 1
    assert metrics["vitrine_recordings_running"] == 0
    assert "is killed" in server.read_log()
    again = Recording(session)
    assert again.stop()["reason"] == "asked"
    assert server.stop() == (0, [])


def test_recordings_are_counted_and_logged(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    session = server.create()
    recording = Recording(session, fps=30)
    assert server.metrics()["vitrine_recordings_running"] == 1
    session.run(
        WINDOW + "for i in range(40): paint(f'#{i * 6:02x}0000'); time.sleep(.03)", timeout_s=60
    )

    shown = recording.stop()

    after = server.metrics()
    assert after["vitrine_recordings_running"] == 0
    assert after['vitrine_recordings_ended_total{reason="asked"}'] == 1
    assert after["vitrine_recording_frames_total"] == shown["frames"] > 10
    assert until(lambda: server.metrics()["vitrine_encoder_cpu_seconds_total"] > 0)
    log = server.read_log()
    whose = f"session={session.id} recording={shown['id']}"
    assert f"recording began {whose} format=mp4 fps=30" in log
    assert f"recording ended {whose} reason=asked frames={shown['frames']}" in log
    assert server.stop() == (0, [])
