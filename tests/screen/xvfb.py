# SPDX-License-Identifier: Apache-2.0
"""A real X server, started with the options that a session's has, and programs in it."""

import contextlib
import ctypes
import os
import re
import secrets
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

import waiting  # noqa: E402

BIN = Path(os.environ.get("VITRINE_BUILD", ROOT / "build" / "dev")) / "bin"
PYTHON = "/usr/bin/python3"  # the one that has tkinter
BACKGROUND = (0x20, 0x24, 0x2B)

PATIENCE = 30.0  # seconds; only how long to wait for what must come


def until(true: Callable[[], object], what: str) -> object:
    """Waits for something that must happen; how long it takes is not judged."""
    return waiting.until(true, PATIENCE, what)


_LIBC = ctypes.CDLL(None)


def die_with_parent() -> None:
    """In a child, before it becomes its program: it ends also when the tests are killed."""
    _LIBC.prctl(1, signal.SIGKILL, 0, 0, 0)


class Display:
    """Owns the server, its directory and the programs started in it; close() ends them all."""

    def __init__(self, width: int = 1024, height: int = 768) -> None:
        self.width, self.height = width, height
        self.folder = Path(tempfile.mkdtemp(prefix="vitrine-screen-"))
        self.programs: list[subprocess.Popen] = []
        self.authority = self.folder / "authority"
        cookie = secrets.token_bytes(16)
        name = b"MIT-MAGIC-COOKIE-1"
        self.authority.write_bytes(
            struct.pack(">HHHH", 0xFFFF, 0, 0, len(name)) + name + struct.pack(">H", 16) + cookie
        )
        read, write = os.pipe()
        self.server = subprocess.Popen(
            f"Xvfb -displayfd {write} -screen 0 {width}x{height}x24 -fbdir {self.folder} "
            f"-auth {self.authority} -nocursor -nolisten tcp -noreset "
            "-extension GLX -extension MIT-SHM -fp built-ins".split(),
            pass_fds=[write],
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        os.close(write)
        said = b""
        while not said.endswith(b"\n"):
            piece = os.read(read, 16)
            assert piece, "Xvfb did not start"
            said += piece
        os.close(read)
        self.environment = {
            "DISPLAY": f":{int(said)}",
            "XAUTHORITY": str(self.authority),
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
        }
        self.framebuffer = self.folder / "Xvfb_screen0"
        self.offset, self.stride = 3232, width * 4

    # -- pixels

    def pixels(self) -> bytes:
        fd = os.open(self.framebuffer, os.O_RDONLY)
        try:
            return os.pread(fd, self.stride * self.height, self.offset)
        finally:
            os.close(fd)

    def pixel(self, x: int, y: int) -> tuple[int, int, int]:
        fd = os.open(self.framebuffer, os.O_RDONLY)
        try:
            blue, green, red, _ = os.pread(fd, 4, self.offset + y * self.stride + x * 4)
        finally:
            os.close(fd)
        return red, green, blue

    # -- programs

    def python(self, code: str, *arguments: str) -> subprocess.Popen:
        """A program in the display. Its stdout is line by line what it wants to tell."""
        program = subprocess.Popen(
            [PYTHON, "-u", "-c", textwrap.dedent(code), *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            preexec_fn=die_with_parent,
        )
        self.programs.append(program)
        return program

    def close(self) -> None:
        for program in self.programs:
            program.kill()
        if self.server.poll() is None:
            self.server.terminate()  # killed, it would leave its socket
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.server.wait(20)
        for program in [*self.programs, self.server]:
            if program.poll() is None:
                program.kill()
            program.wait()
            if program.stdout:
                program.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def expect(program: subprocess.Popen, pattern: str) -> re.Match:
    """The next line that matches; others are skipped. A program that ends has failed."""
    seen = []
    assert program.stdout
    for line in program.stdout:
        if found := re.search(pattern, line):
            return found
        seen.append(line)
    raise AssertionError(f"ended without {pattern!r}; it said {seen[-20:]}")


if __name__ == "__main__":
    sys.exit("a module of the tests")
