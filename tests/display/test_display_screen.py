# SPDX-License-Identifier: Apache-2.0
"""The screen at any time: pictures, parts of pictures, windows, input, and what is refused."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable

import pytest
from PIL import Image
from screenshots import colour, is_blank, seen
from served import Session, until

WINDOW = """
import tkinter
root = tkinter.Tk()
root.title("main")
root.geometry("300x200+100+50")
root.configure(bg="#ff0000")
root.update()
"""


def windows(session: Session) -> list[dict]:
    answer = session.call("GET", "/windows")
    assert answer.status == 200, answer
    return list(answer.json["windows"])


def test_a_session_without_a_window_has_a_blank_screen_and_no_server(session: Session) -> None:
    answer = session.call("GET", "/screenshot")

    assert answer.status == 200 and "blank" in answer.headers["Vitrine-Notes"]
    assert is_blank(Image.open(io.BytesIO(answer.body)))
    assert session.call("GET", "/windows").json["display"]["running"] is False


def test_the_screen_has_the_size_that_was_asked_for(create: Callable[..., Session]) -> None:
    session = create(display={"width": 320, "height": 200})
    assert session.show()["display"] == {"width": 320, "height": 200}
    assert seen(session).size == (320, 200)

    size = "import tkinter\nr = tkinter.Tk()\nprint(r.winfo_screenwidth(), r.winfo_screenheight())"
    assert session.run(size)["stdout"] == "320 200\n"

    assert seen(session).size == (320, 200)


@pytest.mark.parametrize(
    "wish", [{"width": 63}, {"height": 4097}, {"width": 1.5}, {"depth": 8}, {"width": "800"}]
)
def test_sizes_that_are_refused(server, wish: dict) -> None:
    server.post("/v1/sessions", {"display": wish}).is_problem(422, "invalid_field")


def test_a_picture_while_code_runs(session: Session) -> None:
    busy = threading.Thread(target=session.exec, args=(WINDOW + "import time\ntime.sleep(3)",))
    busy.start()

    assert until(lambda: colour(seen(session), 200, 150) == (255, 0, 0))

    assert busy.is_alive(), "it was taken meanwhile"
    busy.join()


def test_parts_of_a_picture(session: Session) -> None:
    session.run(WINDOW)

    part = seen(session, "?region=100,50,30,20&wait=still")
    small = seen(session, "?scale=0.5")
    edge = seen(session, "?region=1000,700,500,500")

    assert part.size == (30, 20) and colour(part, 15, 10) == (255, 0, 0)
    assert small.size == (512, 384) and colour(small, 100, 75) == (255, 0, 0)
    assert edge.size == (24, 68), "the rest is beyond the screen"


@pytest.mark.parametrize(("name", "kind"), [("jpeg", "JPEG"), ("webp", "WEBP"), ("png", "PNG")])
def test_formats(session: Session, name: str, kind: str) -> None:
    session.run(WINDOW)

    answer = session.call("GET", f"/screenshot?format={name}")

    image = Image.open(io.BytesIO(answer.body))
    assert answer.headers["Content-Type"] == f"image/{name}" and image.format == kind
    red, green, blue = colour(image.convert("RGB"), 200, 150)
    assert red > 240 and green < 16 and blue < 16


def test_the_cursor_is_painted_when_asked_for(session: Session) -> None:
    session.run(WINDOW)
    event = {"type": "move", "x": 150, "y": 90}
    assert session.call("POST", "/input", {"events": [event]}).status == 204

    assert colour(seen(session, "?cursor=true"), 150, 90) == (0, 0, 0)
    assert colour(seen(session, "?cursor=true"), 151, 94) == (255, 255, 255)
    assert colour(seen(session, "?cursor=false"), 150, 90) == (255, 0, 0)


@pytest.mark.parametrize(
    "query",
    [
        "region=1,2,3", "region=0,0,0,5", "region=a,b,c,d", "region=5000,5000,10,10",
        "region=99999999999999999999,0,1,1", "scale=0", "scale=2", "scale=nan", "scale=-1",
        "format=gif", "wait=moving", "max_ms=-1", "max_ms=999999", "cursor=maybe", "colour=red",
        "window=",
    ],
)  # fmt: skip
def test_queries_that_are_refused(session: Session, query: str) -> None:
    session.call("GET", f"/screenshot?{query}").is_problem(422, "invalid_field")


def test_windows_are_listed_and_found_by_title_and_id(session: Session) -> None:
    session.run(
        WINDOW + "top = tkinter.Toplevel(root)\ntop.title('other')\n"
        "top.geometry('50x40+600+400')\ntop.configure(bg='#00ff00')\nroot.update()"
    )

    assert until(lambda: {one["title"] for one in windows(session)} >= {"main", "other"})
    main = next(one for one in windows(session) if one["title"] == "main")
    assert (main["width"], main["height"], main["mapped"]) == (300, 200, True)
    assert seen(session, "?window=main").size == (300, 200)
    assert colour(seen(session, "?window=other"), 20, 20) == (0, 255, 0)
    assert seen(session, f"?window={main['id']}").size == (300, 200)


def test_a_window_is_seen_whole_though_another_lies_over_it(session: Session) -> None:
    session.run(
        WINDOW + "top = tkinter.Toplevel(root)\ntop.title('over')\n"
        "top.geometry('400x300+60+20')\ntop.configure(bg='#00ff00')\nroot.update()\n"
        "top.lift()\nroot.update()"
    )
    assert until(lambda: colour(seen(session), 200, 150) == (0, 255, 0))

    picture = seen(session, "?window=main")

    assert picture.size == (300, 200) and colour(picture, 150, 100) == (255, 0, 0)


def test_a_title_that_fits_none_or_several(session: Session) -> None:
    session.run(WINDOW + "top = tkinter.Toplevel(root)\ntop.title('main')\nroot.update()")
    assert until(lambda: sum(one["title"] == "main" for one in windows(session)) == 2)

    missing = session.call("GET", "/screenshot?window=nothing").is_problem(404, "window_not_found")
    several = session.call("GET", "/screenshot?window=main").is_problem(409, "window_ambiguous")

    assert "main" in missing.json["detail"] and "2 windows" in several.json["detail"]


def test_input_reaches_the_program(session: Session) -> None:
    session.run(
        "import tkinter\nroot = tkinter.Tk()\nroot.geometry('300x100+100+100')\n"
        "clicks = []\nb = tkinter.Button(root, text='press', command=lambda: clicks.append(1))\n"
        "b.place(x=0, y=0, width=100, height=50)\ne = tkinter.Entry(root)\n"
        "e.place(x=0, y=60, width=200, height=30)\nroot.update()"
    )
    events = [
        {"type": "click", "x": 150, "y": 125},
        {"type": "click", "x": 150, "y": 175},
        {"type": "text", "text": "héllo"},
    ]

    assert session.call("POST", "/input", {"events": events}).status == 204

    session.run("import time\nfor _ in range(20): root.update(); time.sleep(0.01)")
    assert session.value("(len(clicks), e.get())") == "(1, 'héllo')"


@pytest.mark.parametrize(
    "body",
    [
        {}, {"events": []}, {"events": [{}]}, {"events": [{"type": "dance"}]},
        {"events": [{"type": "click", "x": 1}]}, {"events": [{"type": "move"}]},
        {"events": [{"type": "key"}]}, {"events": [{"type": "click", "colour": 1}]},
        {"events": [{"type": "key", "key": "NoSuchKey"}]},
        {"events": [{"type": "wait", "ms": 10_000}] * 4},
    ],
)  # fmt: skip
def test_input_that_is_refused(session: Session, body: dict) -> None:
    session.run(WINDOW)

    session.call("POST", "/input", body).is_problem(422, "invalid_field")


def test_input_without_a_screen_is_refused(session: Session) -> None:
    body = {"events": [{"type": "key", "key": "a"}]}

    session.call("POST", "/input", body).is_problem(409, "no_display")


def test_screens_of_unknown_sessions_are_not_found(server) -> None:
    for path in ("screenshot", "windows"):
        server.get(f"/v1/sessions/{'0' * 32}/{path}").is_problem(404)
