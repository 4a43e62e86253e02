# SPDX-License-Identifier: Apache-2.0
"""`vitrine-screen` as a window manager: real programs in a real X server."""

import pytest
from screen_client import Refused, Screen, close, key, text
from xvfb import BACKGROUND, Display, expect, until

TWO_WINDOWS = """
    import tkinter as tk
    root = tk.Tk(); root.title("one"); root.geometry("300x200"); root["bg"] = "#ff0000"
    root.update()
    other = tk.Toplevel(root); other.title("two"); other.geometry("300x200"); other["bg"] = "#00ff00"
    other.update()
    print("shown")
    root.mainloop()
"""


def test_the_root_is_painted_before_it_is_ready(display: Display, screen: Screen) -> None:
    assert display.pixels() == bytes([*reversed(BACKGROUND), 0]) * (1024 * 768)
    assert screen.windows() == []


def test_a_window_is_placed_in_the_middle_and_has_the_keyboard(
    display: Display, screen: Screen
) -> None:
    display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("größer"); root.geometry("400x300"); root["bg"] = "#0000ff"
        root.mainloop()
    """)

    window = until(lambda: screen.window("größer"), "the window")

    assert (window.x, window.y, window.width, window.height) == (312, 234, 400, 300)
    until(lambda: screen.window("größer").active, "it has the keyboard")
    until(lambda: display.pixel(512, 384) == (0, 0, 255), "its colour")
    assert display.pixel(5, 5) == BACKGROUND


def test_a_window_that_chose_its_place_keeps_it(display: Display, screen: Screen) -> None:
    program = display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("here"); root.geometry("200x100+40+60")
        root.update(); print(root.winfo_rootx(), root.winfo_rooty())
        root.geometry("+70+90"); root.update(); root.update(); print("moved")
        root.mainloop()
    """)
    expect(program, "^40 60$")
    expect(program, "moved")

    until(lambda: (screen.window("here").x, screen.window("here").y) == (70, 90), "it moved itself")


def test_a_window_that_is_shown_again_is_where_it_was(display: Display, screen: Screen) -> None:
    program = display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("one"); root.geometry("300x200"); root.update()
        other = tk.Toplevel(root); other.title("two"); other.geometry("300x200"); other.update()
        print("shown")
        other.bind("<F5>", lambda e: (other.withdraw(), other.update(), print("hidden"),
                                      other.after(200, lambda: (other.deiconify(), print("again")))))
        root.mainloop()
    """)
    expect(program, "shown")
    until(lambda: screen.active() == "two", "both")
    before = screen.window("two")

    screen.input(key("F5"))
    expect(program, "hidden")
    until(lambda: screen.active() == "one", "the other has the keyboard meanwhile")
    expect(program, "again")
    after = until(lambda: screen.window("two"), "it is back")

    assert (after.x, after.y) == (before.x, before.y)


def test_a_window_out_of_sight_is_brought_back(display: Display, screen: Screen) -> None:
    display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("far"); root.geometry("200x100+5000+5000"); root.mainloop()
    """)

    window = until(lambda: screen.window("far"), "the window")

    assert 0 <= window.x <= 824 and 0 <= window.y <= 668


def test_windows_do_not_hide_each_other_and_the_last_is_active(
    display: Display, screen: Screen
) -> None:
    expect(display.python(TWO_WINDOWS), "shown")

    until(lambda: screen.active() == "two", "the newest has the keyboard")
    one, two = screen.window("one"), screen.window("two")

    assert (two.x, two.y) == (one.x + 28, one.y + 28)
    assert two.z > one.z
    assert display.pixel(one.x + 5, one.y + 5) == (255, 0, 0)
    assert display.pixel(two.x + 5, two.y + 5) == (0, 255, 0)


def test_when_the_active_window_goes_the_next_has_the_keyboard(
    display: Display, screen: Screen
) -> None:
    expect(display.python(TWO_WINDOWS), "shown")
    until(lambda: screen.active() == "two", "the newest has the keyboard")

    screen.input(close())

    until(lambda: screen.window("two") is None, "it closed")
    until(lambda: screen.active() == "one", "the other has the keyboard")


def test_a_dialog_is_above_its_window_and_in_its_middle(display: Display, screen: Screen) -> None:
    program = display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("main"); root.geometry("400x300+500+300"); root.update()
        dialog = tk.Toplevel(root); dialog.title("dialog"); dialog.geometry("100x80")
        dialog.transient(root); dialog.update()
        root.lift(); root.update()
        print("shown"); root.mainloop()
    """)
    expect(program, "shown")

    dialog = until(lambda: screen.window("dialog"), "the dialog")
    main = screen.window("main")

    assert dialog.parent == main.id
    assert dialog.z > main.z, "also after the main window was raised"
    assert (dialog.x, dialog.y) == (650, 410)


def test_the_keyboard_is_never_lost(display: Display, screen: Screen) -> None:
    """A program takes it in a way that leaves nobody, and dies."""
    listener = display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("listener")
        root.bind("<Key>", lambda e: print("key", e.keysym)); root.update()
        print("shown"); root.mainloop()
    """)
    expect(listener, "shown")
    thief = display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("thief"); root.update(); root.focus_force(); root.update()
        print("took it"); root.mainloop()
    """)
    expect(thief, "took it")

    thief.kill()
    until(lambda: screen.active() == "listener", "the keyboard comes back")
    screen.input(key("Return"))

    expect(listener, "key Return")


def test_a_program_without_delete_protocol_cannot_be_closed(
    display: Display, screen: Screen
) -> None:
    with pytest.raises(Refused, match="no window is active"):
        screen.input(close())
    with pytest.raises(Refused, match="no such window") as refused:
        screen.input(key("Return"), close(12345))
    assert refused.value.event == 1


def test_alt_f4_closes_the_active_window(display: Display, screen: Screen) -> None:
    program = display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("x")
        root.protocol("WM_DELETE_WINDOW", lambda: (print("asked to close"), root.destroy()))
        root.mainloop()
    """)
    until(lambda: screen.active() == "x", "the window")

    screen.input(key("alt+F4"))

    expect(program, "asked to close")
    assert program.wait(30) == 0


def test_fullscreen_fills_the_screen_and_returns(display: Display, screen: Screen) -> None:
    program = display.python("""
        import tkinter as tk, sys
        root = tk.Tk(); root.title("full"); root.geometry("300x200+50+60"); root["bg"] = "#ffff00"
        root.bind("f", lambda e: root.attributes("-fullscreen", True))
        root.bind("n", lambda e: root.attributes("-fullscreen", False))
        root.update(); print("shown"); root.mainloop()
    """)
    expect(program, "shown")
    until(lambda: screen.active() == "full", "the window")

    screen.input(text("f"))
    until(lambda: display.pixel(1, 1) == display.pixel(1022, 766) == (255, 255, 0), "all of it")
    screen.input(text("n"))
    until(lambda: display.pixel(1, 1) == BACKGROUND, "the root again")

    until(lambda: screen.window("full").width == 300, "its size")
    assert (screen.window("full").x, screen.window("full").y) == (50, 60)


def test_windows_that_were_there_before_are_taken_over(display: Display) -> None:
    program = display.python(TWO_WINDOWS)
    expect(program, "shown")

    screen = Screen(display)
    try:
        one, two = screen.window("one"), screen.window("two")
        assert (one.x, one.y) != (0, 0)
        assert (one.x, one.y) != (two.x, two.y)
        until(lambda: screen.active() in ("one", "two"), "one of them has the keyboard")
    finally:
        screen.close()


def test_a_covered_window_can_be_captured(display: Display, screen: Screen) -> None:
    program = display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("below"); root.geometry("200x150+100+100"); root["bg"] = "#123456"
        root.update()
        other = tk.Toplevel(root); other.title("over"); other.geometry("200x150+100+100")
        other["bg"] = "#ffffff"; other.update(); other.update(); print("shown")
        root.mainloop()
    """)
    expect(program, "shown")
    until(lambda: screen.active() == "over", "both")
    until(lambda: display.pixel(150, 150) == (255, 255, 255), "the upper one")

    width, height, pixels = screen.capture(screen.window("below").id)

    assert (width, height) == (200, 150)
    assert len(pixels) == 200 * 150 * 4
    assert {pixels[i : i + 3] for i in range(0, len(pixels), 4)} == {b"\x56\x34\x12"}
    with pytest.raises(Refused, match="no such window"):
        screen.capture(4242)


def test_titles_are_cut_and_cleaned(display: Display, screen: Screen) -> None:
    program = display.python("""
        import tkinter as tk
        root = tk.Tk(); root.title("é" * 300); root.update()
        other = tk.Toplevel(root); other.title("a\\tb\\x01c"); other.update()
        print("shown"); root.mainloop()
    """)
    expect(program, "shown")

    titles = {
        w.title for w in until(lambda: len(screen.windows()) > 1 and screen.windows(), "both")
    }

    assert titles == {"é" * 128, "a b c"}


def test_it_ends_with_the_x_server_and_not_with_the_front(display: Display, screen: Screen) -> None:
    screen.socket.close()
    display.python("""
        import tkinter as tk
        root = tk.Tk(); root.geometry("100x100"); root["bg"] = "#00ffff"; root.mainloop()
    """)
    until(lambda: display.pixel(512, 384) == (0, 255, 255), "it still places windows")
    assert screen.process.poll() is None

    display.server.terminate()

    assert screen.process.wait(30) == 0
