# SPDX-License-Identifier: Apache-2.0
"""Mouse and keyboard, as real programs receive them."""

import subprocess

import pytest
from screen_client import (
    INPUT,
    Refused,
    Screen,
    button,
    click,
    drag,
    key,
    key_down,
    key_up,
    move,
    pause,
    scroll,
    text,
)
from xvfb import Display, expect, until

ENTRY = """
    import tkinter as tk
    root = tk.Tk(); root.title("entry"); root.geometry("600x100+100+100")
    value = tk.StringVar(); entry = tk.Entry(root, textvariable=value); entry.pack(fill="x")
    entry.bind("<Return>", lambda e: (print("entered", ascii(value.get())), value.set("")))
    for chord in ("<Control-s>", "<Control-Shift-S>", "<Control-plus>", "<F5>", "<Escape>",
                  "<Alt-Left>", "<Prior>", "<Super_L>"):
        root.bind(chord, lambda e, chord=chord: print("chord", chord))
    entry.focus_set(); root.update(); print("shown"); root.mainloop()
"""

CANVAS = """
    import tkinter as tk
    root = tk.Tk(); root.title("canvas"); root.geometry("400x300+0+0"); root["bg"] = "white"
    def say(name):
        return lambda e: print(name, e.num if e.num != "??" else "-", e.x_root, e.y_root)
    root.bind("<ButtonPress>", say("press")); root.bind("<ButtonRelease>", say("release"))
    root.bind("<Double-Button-1>", say("double")); root.bind("<B1-Motion>", say("drag"))
    root.bind("<Motion>", say("motion"))
    root.update(); print("shown"); root.mainloop()
"""


def entry(display: Display, screen: Screen) -> subprocess.Popen:
    program = display.python(ENTRY)
    expect(program, "shown")
    until(lambda: screen.active() == "entry", "the window has the keyboard")
    return program


def canvas(display: Display, screen: Screen) -> subprocess.Popen:
    program = display.python(CANVAS)
    expect(program, "shown")
    until(lambda: screen.active() == "canvas", "the window is there")
    return program


def typed(program: subprocess.Popen) -> str:
    return eval(expect(program, r"^entered (.*)")[1])


@pytest.mark.parametrize(
    "written",
    [
        "Hello, World! ~`@#$%^&*()_+{}|:\"<>?-=[]\\;',./ 0123456789",
        "é 你好 ñ € 😀 ß Ω",
        "ABCabc" * 200,
        "".join(chr(0x4E00 + i) for i in range(40)) * 2,  # more characters than free keys
        "".join(chr(0x4E00 + i) for i in range(300)),
    ],
    ids=["ascii", "unicode", "long", "chinese", "many"],
)
def test_a_text_arrives_as_it_was_written(display: Display, screen: Screen, written: str) -> None:
    program = entry(display, screen)

    screen.input(text(written + "\n"))

    assert typed(program) == written


def test_texts_in_a_row_do_not_change_each_other(display: Display, screen: Screen) -> None:
    program = entry(display, screen)
    lines = [f"{chr(0x3B1 + i)}{chr(0x430 + i)}{chr(0x5D0 + i)}x" for i in range(20)]

    for line in lines:
        screen.input(text(line), key("Return"))

    assert [typed(program) for _ in lines] == lines


def test_caps_lock_does_not_change_a_text(display: Display, screen: Screen) -> None:
    program = entry(display, screen)

    screen.input(key("Caps_Lock"))
    screen.input(text("Aa\n"))
    screen.input(key("a"), key("Return"))

    assert typed(program) == "Aa"
    assert typed(program) == "A", "the lock itself is as it was"


@pytest.mark.parametrize(
    ("chord", "arrives"),
    [
        ("ctrl+s", "<Control-s>"),
        ("Ctrl+S", "<Control-s>"),
        ("ctrl+shift+s", "<Control-Shift-S>"),
        ("ctrl++", "<Control-plus>"),
        ("F5", "<F5>"),
        ("esc", "<Escape>"),
        ("alt+left", "<Alt-Left>"),
        ("PageUp", "<Prior>"),
        ("win", "<Super_L>"),
    ],
)
def test_chords_have_friendly_names(
    display: Display, screen: Screen, chord: str, arrives: str
) -> None:
    program = entry(display, screen)

    screen.input(key(chord))

    assert expect(program, "^chord (.*)")[1] == arrives


def test_editing_keys_edit(display: Display, screen: Screen) -> None:
    program = entry(display, screen)

    screen.input(text("abcd"), key("BackSpace"), key("Home"), key("Delete"), text("X"), key("End"))
    screen.input(key_down("shift"), key("Home"), key_up("shift"), text("new\n"))

    assert typed(program) == "new", "what was selected with shift held was replaced"


def test_an_unknown_key_is_refused_with_what_would_do(display: Display, screen: Screen) -> None:
    program = entry(display, screen)

    with pytest.raises(Refused, match=r'no key "frobnicate"; accepted are .*ctrl\+shift\+s') as no:
        screen.input(text("x"), key("ctrl+frobnicate"))
    screen.input(key("Return"))

    assert no.value.event == 1
    assert typed(program) == "", "nothing of a refused input happens"


@pytest.mark.parametrize(
    "event", [move(1024, 0), click(0, 768), drag((0, 0), (-1, 5)), text("\x1b"), key(""), key("a+")]
)
def test_what_cannot_be_done_is_refused(screen: Screen, event: bytes) -> None:
    with pytest.raises(Refused) as refused:
        screen.input(event)
    assert refused.value.event == 0


def test_clicks_and_double_clicks_land_where_they_were_aimed(
    display: Display, screen: Screen
) -> None:
    program = canvas(display, screen)

    screen.input(click(30, 40), click(31, 41, button=3), click(200, 100, count=2))

    assert expect(program, "^press (.*)")[1] == "1 30 40"
    assert expect(program, "^release (.*)")[1] == "1 30 40"
    assert expect(program, "^press (.*)")[1] == "3 31 41"
    assert expect(program, "^double (.*)")[1] == "1 200 100"


def test_a_drag_moves_with_the_button_held(display: Display, screen: Screen) -> None:
    program = canvas(display, screen)

    screen.input(drag((10, 10), (110, 210), steps=10))

    assert expect(program, "^press (.*)")[1] == "1 10 10"
    moved = [expect(program, "^drag - (.*)")[1] for _ in range(10)]
    assert moved == [f"{10 + 10 * i} {10 + 20 * i}" for i in range(1, 11)]
    assert expect(program, "^release (.*)")[1] == "1 110 210"


def test_buttons_can_be_held_by_hand(display: Display, screen: Screen) -> None:
    program = canvas(display, screen)

    screen.input(button(True, at=(50, 50)))
    assert expect(program, "^press (.*)")[1] == "1 50 50"
    screen.input(move(60, 60))
    assert expect(program, "^drag - (.*)")[1] == "60 60"
    screen.input(button(False, at=(70, 70)))

    assert expect(program, "^release (.*)")[1] == "1 70 70"


def test_the_wheel_turns_both_ways(display: Display, screen: Screen) -> None:
    program = canvas(display, screen)

    screen.input(scroll(20, 20, dy=2), scroll(20, 20, dy=-1))

    assert [expect(program, r"^press (\d)")[1] for _ in range(3)] == ["5", "5", "4"]


def test_a_click_brings_the_window_up_and_the_keyboard_with_it(
    display: Display, screen: Screen
) -> None:
    program = display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("one"); root.geometry("300x200+0+0"); root.update()
        other = tk.Toplevel(root); other.title("two"); other.geometry("300x200+200+100")
        for window in (root, other):
            window.bind("<Key>", lambda e: print("key", e.keysym, e.widget.winfo_toplevel().title()))
        other.update(); print("shown"); root.mainloop()
    """)
    expect(program, "shown")
    until(lambda: screen.active() == "two", "the newer one")

    screen.input(click(10, 10), text("k"))

    assert expect(program, "^key k (.*)")[1] == "one"
    assert screen.window("one").z > screen.window("two").z


def test_windows_are_managed_while_an_input_waits(display: Display, screen: Screen) -> None:
    number = screen.send(INPUT, b"\1\0" + pause(5000))

    display.python(CANVAS)

    until(lambda: screen.active() == "canvas", "a window during the pause")
    assert number not in screen.answers, "the pause goes on"
    assert screen.receive(number)


def test_inputs_wait_their_turn_and_too_many_are_refused(screen: Screen) -> None:
    numbers = [screen.send(INPUT, b"\1\0" + pause(300)) for _ in range(40)]

    refused = 0
    for number in numbers:
        try:
            screen.result(number)
        except Refused as refusal:
            assert "too many" in refusal.text
            refused += 1

    assert 0 < refused <= 24
