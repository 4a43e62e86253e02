# SPDX-License-Identifier: Apache-2.0
"""Programs that attack the window manager: it neither ends, nor starves, nor grows without bound."""

import time
from pathlib import Path

from screen_client import Screen, key
from xvfb import Display, expect, until

# The bare protocol, since toolkits are too polite: connects, and sends what it likes.
RAW = """
    import os, socket, struct, sys
    def connect():
        s = socket.socket(socket.AF_UNIX)
        s.connect("/tmp/.X11-unix/X" + os.environ["DISPLAY"][1:])
        raw = open(os.environ["XAUTHORITY"], "rb").read()
        cookie = raw[-16:]
        s.sendall(struct.pack("<BxHHHHxx", 0x6c, 11, 0, 18, 16) + b"MIT-MAGIC-COOKIE-1\\0\\0" + cookie)
        head = s.recv(8, socket.MSG_WAITALL)
        body = s.recv(struct.unpack("<H", head[6:8])[0] * 4, socket.MSG_WAITALL)
        assert head[0] == 1, body
        base = struct.unpack_from("<I", body, 4)[0]
        vendor = struct.unpack_from("<H", body, 16)[0]
        formats = body[21]
        root = struct.unpack_from("<I", body, 32 + (vendor + 3) // 4 * 4 + 8 * formats)[0]
        return s, base, root
    def window(ident, root, x=0, y=0, w=50, h=50, override=0):
        return struct.pack("<BBHIIhhHHHHIII", 1, 0, 9, ident, root, x, y, w, h, 0, 1, 0, 0x200, override)
    def one(code, ident):
        return struct.pack("<BxHI", code, 2, ident)
    def drain(s):
        s.setblocking(False)
        try:
            while s.recv(1 << 20): pass
        except BlockingIOError: pass
        s.setblocking(True)
    MAP, UNMAP, DESTROY = 8, 10, 4
    s, base, root = connect()
"""


def is_alive(screen: Screen) -> None:
    assert screen.process.poll() is None
    assert isinstance(screen.windows(), list)


def memory_kb(screen: Screen) -> int:
    status = Path(f"/proc/{screen.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def test_thousands_of_windows_do_not_starve_it(display: Display, screen: Screen) -> None:
    program = display.python(
        RAW
        + """
    for n in range(20000):
        s.sendall(window(base + n + 1, root, n % 900, n % 700) + one(MAP, base + n + 1))
        if n == 2000: print("many", flush=True)
        if n % 500 == 0: drain(s)
    print("all", flush=True)
    s.recv(1 << 20)
    import time
    while True: drain(s); time.sleep(0.05)
    """
    )
    expect(program, "many")

    start = time.monotonic()
    found, _ = screen.all_windows()
    screen.input(key("a"))
    answered = time.monotonic() - start
    expect(program, "all")
    _, more = screen.all_windows()

    assert len(found) <= 512
    assert answered < 60, "an answer among floods"
    assert more
    until(lambda: len(screen.windows()) == 512, "as many as are told, all mapped")
    assert memory_kb(screen) < 64 * 1024
    program.kill()
    program.wait()
    until(lambda: screen.windows() == [], "they are gone")


def test_absurd_sizes_places_and_dialogs_do_not_end_it(display: Display, screen: Screen) -> None:
    program = display.python(
        RAW
        + """
    def configure(ident, mask, *values):
        return struct.pack("<BxHIHxx", 12, 3 + len(values), ident, mask) + struct.pack(f"<{len(values)}I", *values)
    def transient(ident, parent):
        return struct.pack("<BBHIIIB3xII", 18, 0, 7, ident, 68, 33, 32, 1, parent)
    def hints(ident, flags):
        return struct.pack("<BBHIIIB3xI", 18, 0, 24, ident, 40, 41, 32, 18) + struct.pack("<18I", flags, *[0xFFFFFFFF] * 17)
    a, b, c = base + 1, base + 2, base + 3
    s.sendall(window(a, root, -32768, 32767, 65535, 65535) + one(MAP, a))
    s.sendall(window(b, root) + transient(b, a) + transient(a, b) + hints(b, 0xFFFFFFFF) + one(MAP, b))
    s.sendall(window(c, root) + transient(c, c) + one(MAP, c))
    for n in range(2000):
        s.sendall(configure(a, 0x4F, 0xFFFF8000, 0x7FFF, 65535, 65535, n % 5) )
        s.sendall(configure(b, 0x60, a, n % 5) + configure(c, 0x60, c, 0))
        s.sendall(one(UNMAP, b) + one(MAP, b))
        drain(s)
    s.sendall(one(DESTROY, a) + one(MAP, a) + one(DESTROY, c))
    print("done", flush=True)
    import time
    while True: drain(s); time.sleep(0.05)
    """
    )
    expect(program, "done")

    is_alive(screen)
    until(lambda: len(screen.windows()) <= 1, "only one is left")


def test_who_steals_the_keyboard_again_and_again_costs_little(
    display: Display, screen: Screen
) -> None:
    display.python(
        RAW
        + """
    ident = base + 1
    s.sendall(window(ident, root) + one(MAP, ident))
    print("go", flush=True)
    while True:
        s.sendall(struct.pack("<BBHII", 42, 0, 3, 0, 0) * 100)  # the keyboard is nobody's
        drain(s)
    """
    )
    until(lambda: len(screen.windows()) == 1, "its window")

    for _ in range(20):
        is_alive(screen)


def test_messages_and_properties_of_any_kind_do_not_end_it(
    display: Display, screen: Screen
) -> None:
    program = display.python(
        RAW
        + """
    import random
    random.seed(1)
    ident = base + 1
    s.sendall(window(ident, root) + one(MAP, ident))
    for n in range(20000):
        target = random.choice([ident, root, 0, base + 7])
        kind = random.randrange(1, 420)
        data = struct.pack("<BBHII", 33, random.choice([8, 16, 32]), 0, target, kind) + random.randbytes(20)
        s.sendall(struct.pack("<BBHII", 25, 0, 11, root, 0x180000) + data)
        atom, format = random.randrange(1, 420), random.choice([8, 16, 32])
        junk = random.randbytes(64)
        s.sendall(struct.pack("<BBHIIIB3xI", 18, 0, 6 + 16, ident, atom, random.choice([4, 6, 31, 33, 41]), format, 64 * 8 // format) + junk)
        if n % 100 == 0:
            drain(s)
            s.sendall(one(UNMAP, ident) + one(MAP, ident))
    print("done", flush=True)
    import time
    while True: drain(s); time.sleep(0.05)
    """
    )
    expect(program, "done")

    is_alive(screen)


def test_bytes_that_are_no_request_are_ignored(screen: Screen) -> None:
    for junk in (
        b"\1",
        b"\0" * 5,
        b"\1\0\0\0\xff",
        b"\1\0\0\0\1\xff\xff" + b"\0" * 100,
        b"x" * 5000,
    ):
        screen.socket.send(junk)

    is_alive(screen)


def test_another_window_manager_is_left_alone(display: Display) -> None:
    program = display.python(
        RAW
        + """
    s.sendall(struct.pack("<BBHIII", 2, 0, 4, root, 0x800, 0x180000))
    s.sendall(struct.pack("<BBH", 43, 0, 1)); s.recv(32)
    print("manager", flush=True)
    import time
    while True: drain(s); time.sleep(0.05)
    """
    )
    expect(program, "manager")

    screen = Screen(display)
    try:
        is_alive(screen)
        screen.input(key("a"))
    finally:
        screen.close()
