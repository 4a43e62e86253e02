# SPDX-License-Identifier: Apache-2.0
"""A real X server for tests, locked by a cookie, and its pixels as they are in its framebuffer."""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

WIDTH, HEIGHT = 1024, 768
PIXELS = 3232  # where they begin in the file; rows of blue, green, red and an unused byte


class Screen:
    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="vitrine-screen-")
        self.authority = str(Path(self._directory.name) / "authority")
        entry = (b"", b"", b"MIT-MAGIC-COOKIE-1", os.urandom(16))  # for any display of any host
        fields = b"".join(struct.pack(">H", len(field)) + field for field in entry)
        Path(self.authority).write_bytes(b"\xff\xff" + fields)
        ready, theirs = os.pipe()
        self._server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(theirs), "-screen", "0", f"{WIDTH}x{HEIGHT}x24",
             "-fbdir", self._directory.name, "-nolisten", "tcp", "-extension", "GLX",
             "-extension", "MIT-SHM", "-nocursor", "-auth", self.authority],
            pass_fds=[theirs], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs)
        number = b""
        while not number.endswith(b"\n"):
            part = os.read(ready, 100)
            assert part, "Xvfb did not start"
            number += part
        os.close(ready)
        self.display = f":{int(number)}"
        self._file = os.open(Path(self._directory.name) / "Xvfb_screen0", os.O_RDONLY)

    def close(self) -> None:
        os.close(self._file)
        self._server.terminate()
        self._server.wait(10)
        self._directory.cleanup()

    def pixels(self) -> bytes:
        return os.pread(self._file, WIDTH * HEIGHT * 4, PIXELS)

    def colour(self, x: int, y: int) -> str:
        blue, green, red, _ = os.pread(self._file, 4, PIXELS + (y * WIDTH + x) * 4)
        return f"#{red:02x}{green:02x}{blue:02x}"

    def is_blank(self) -> bool:
        return not any(self.pixels())

    def shows(self, x: int, y: int, colour: str) -> bool:
        """Whether it does, now or soon."""
        return self.waits_for(lambda: self.colour(x, y) == colour, 5.0)

    def waits_for(self, condition: Callable[[], bool], patience: float = 30.0) -> bool:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if condition():
                return True
            time.sleep(0.005)
        return False
