# SPDX-License-Identifier: Apache-2.0
"""The front's place at `vitrine-encoder`, from src/wire/encoder.h alone; and a look at films."""

import contextlib
import json
import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from struct import pack, unpack_from

from xvfb import BIN, PATIENCE, die_with_parent

MP4, WEBM, APNG, GIF = range(4)
STARTED, PROGRESS, STOPPED = range(3)
ASKED, TIME, SIZE, SOURCE_GONE, DISK_FULL, ERROR = range(6)


@dataclass
class Stopped:
    frames: int
    bytes: int
    milliseconds: int
    reason: int
    detail: str


class Recording:
    """The front's end of an encoder's socket."""

    def __init__(self, control: socket.socket) -> None:
        self.socket = control
        self.socket.settimeout(PATIENCE)
        self.encoder = 0  # what the keeper calls it
        self.progress: list[tuple[int, int, int]] = []
        self.started: tuple[int, int, int, str] | None = None
        self.stopped: Stopped | None = None

    def start(
        self,
        source: int,
        output: Path,
        width: int = 1024,
        height: int = 768,
        *,
        offset: int = 3232,
        stride: int | None = None,
        fps: int = 30,
        form: int = MP4,
        max_seconds: int = 600,
        max_bytes: int = 1 << 28,
    ) -> None:
        wish = pack("<IIQIIBIQ", width, height, offset, stride or width * 4, fps, form,
                    max_seconds, max_bytes)  # fmt: skip
        film = os.open(output, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        socket.send_fds(self.socket, [b"\0" + wish], [source, film])
        os.close(film)

    def receive(self) -> int:
        packet = self.socket.recv(4096)
        assert packet, "the encoder ended without a word"
        kind, body = packet[0], packet[1:]
        if kind == STARTED:
            width, height, fps, size = unpack_from("<IIII", body)
            self.started = (width, height, fps, body[16 : 16 + size].decode())
        elif kind == PROGRESS:
            self.progress.append(unpack_from("<QQQ", body))
        else:
            frames, size, milliseconds, reason, _ = unpack_from("<QQQBI", body)
            self.stopped = Stopped(frames, size, milliseconds, reason, body[29:].decode())
        return kind

    def wait_started(self) -> "Recording":
        assert self.receive() == STARTED, self.stopped
        return self

    def wait_progress(self, count: int) -> None:
        while len(self.progress) < count:
            assert self.receive() == PROGRESS

    def wait_frames(self, count: int) -> None:
        while not self.progress or self.progress[-1][0] < count:
            assert self.receive() == PROGRESS

    def wait_stopped(self) -> Stopped:
        while self.stopped is None:
            self.receive()
        return self.stopped

    def stop(self) -> Stopped:
        self.socket.send(b"\1")
        return self.wait_stopped()

    def close(self) -> None:
        self.socket.close()


class Encoder(Recording):
    """One recording of `source` into `output`, in a process of its own; close() ends it."""

    def __init__(self, source: Path, output: Path, *size: int, **wish: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(ours)
        with theirs:
            self.process = subprocess.Popen(
                [BIN / "vitrine-encoder"],
                preexec_fn=lambda: (die_with_parent(), os.dup2(theirs.fileno(), 3)),
                close_fds=False,
            )
        screen = os.open(source, os.O_RDONLY)
        self.start(screen, output, *size, **wish)
        os.close(screen)

    def wait_stopped(self) -> Stopped:
        stopped = super().wait_stopped()
        self.process.wait(PATIENCE)
        return stopped

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        super().close()


@dataclass
class Film:
    width: int
    height: int
    times: list[float]  # seconds, of each frame
    frames: list[bytes]  # RGB

    def pixel(self, frame: int, x: int, y: int) -> tuple[int, ...]:
        at = (y * self.width + x) * 3
        return tuple(self.frames[frame][at : at + 3])


def watch(path: Path) -> Film:
    """Decodes a file with other people's programs; anything wrong with it is an error."""
    told = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
         "stream=width,height:frame=best_effort_timestamp_time", "-of", "json", str(path)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    facts = json.loads(told.stdout)
    stream = facts["streams"][0]
    raw = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(path), "-fps_mode", "passthrough", "-f", "rawvideo",
         "-pix_fmt", "rgb24", "-"],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    size = stream["width"] * stream["height"] * 3
    frames = [raw.stdout[i : i + size] for i in range(0, len(raw.stdout), size)]
    times = [float(f["best_effort_timestamp_time"]) for f in facts["frames"]]
    return Film(stream["width"], stream["height"], times, frames)


def close_to(one: tuple[int, ...], other: tuple[int, ...], slack: int = 12) -> bool:
    return all(abs(a - b) <= slack for a, b in zip(one, other, strict=True))


class Canvas:
    """A framebuffer file that the test itself paints."""

    def __init__(self, path: Path, width: int, height: int, offset: int = 3232) -> None:
        self.path, self.width, self.height, self.offset = path, width, height, offset
        path.write_bytes(bytes(offset + width * height * 4))

    def fill(self, red: int, green: int, blue: int) -> None:
        self.write(bytes([blue, green, red, 0]) * (self.width * self.height))

    def write(self, pixels: bytes) -> None:
        with self.path.open("r+b", buffering=0) as file:
            file.seek(self.offset)
            file.write(pixels)

    def noise(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.write(os.urandom(self.width * self.height * 4))
