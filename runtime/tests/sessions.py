# SPDX-License-Identifier: Apache-2.0
"""The client side of tests: zygotes that stay warm for the whole run, and their sessions."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import signal
import socket
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import image_python
from fake_native import END, FIELD

HERE = Path(__file__).resolve().parent
IMAGE = Path(os.environ.get("VITRINE_IMAGE", HERE.parents[1] / "build" / "image")).resolve()
PYTHON = os.environ.get("VITRINE_TEST_PYTHON") or str(image_python.make(IMAGE))
PATIENCE = 60.0


@cache
def environment() -> dict[str, str]:
    """Variables of the image's Python, or of another that gets its packages, with the runtime."""
    packages = sorted(IMAGE.glob("root/usr/local/lib/python3*/dist-packages"))
    path = ":".join(map(str, [HERE.parent, HERE, *packages]))
    fonts = str(HERE / "matplotlibrc")
    programs = f"{Path(PYTHON).parent}:{os.environ['PATH']}"
    own = {} if "VITRINE_TEST_PYTHON" in os.environ else image_python.variables(IMAGE)
    # As the keeper starts a zygote (src/keeper/process/zygotes.cc): with no threads.
    own |= {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }
    return dict(
        os.environ, LC_ALL="C.UTF-8", PATH=programs, PYTHONPATH=path, MATPLOTLIBRC=fonts, **own
    )


@cache
def has_scientific_stack() -> bool:
    """False only for a Python that somebody chose: with the image the default one has it."""
    code = (
        "from importlib.util import find_spec\n"
        "missing = [m for m in ('numpy', 'pandas', 'matplotlib', 'PIL') if find_spec(m) is None]\n"
        "raise SystemExit(f'missing: {missing}' if missing else 0)"
    )
    probe = [PYTHON, "-c", code]
    done = subprocess.run(probe, capture_output=True, text=True, env=environment())
    if done.returncode != 0 and "VITRINE_TEST_PYTHON" not in os.environ:
        raise RuntimeError(f"no image in {IMAGE}: run ./dev image\n{done.stderr}")
    return done.returncode == 0


@cache
def python_version() -> tuple[int, int]:
    code = "import sys; print(*sys.version_info[:2])"
    major, minor = subprocess.check_output([PYTHON, "-c", code], text=True).split()
    return int(major), int(minor)


@dataclass
class Shown:
    """One result frame."""

    kind: int
    display_id: str
    data: dict[str, bytes]
    metadata: dict[str, Any]

    @property
    def text(self) -> str:
        return self.data["text/plain"].decode()


@dataclass
class Done:
    """A whole execution as the front would see it."""

    outcome: str = ""
    exit_code: int = -1
    results: list[Shown] = field(default_factory=list)
    error: tuple[str, str, str] | None = None
    notes: list[str] = field(default_factory=list)
    stdout: str = ""
    stderr: str = ""
    asked: list[tuple[str, bool]] = field(default_factory=list)
    requested: list[list[str]] = field(default_factory=list)  # packages
    lines: list[int] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    seen: Any = None  # what was there to see when it was painted

    @property
    def value(self) -> str | None:
        """text/plain of the last expression's value."""
        texts = [shown.text for shown in self.results if shown.kind == 0]
        return texts[-1] if texts else None

    @property
    def traceback(self) -> str:
        assert self.error is not None, self
        return self.error[2]


class Zygote:
    def __init__(self, variant: str) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # What a session's /tmp is: the code of tests leaves its files there.
        self._scratch = tempfile.TemporaryDirectory(prefix="vitrine-runtime-")
        variables = {**environment(), "TMPDIR": self._scratch.name}
        variables.pop("MPLBACKEND", None)
        self.process = subprocess.Popen(
            [PYTHON, str(HERE / "zygote_process.py"), str(theirs.fileno()), variant],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=variables,
            start_new_session=True,
        )
        theirs.close()
        assert self.control.recv(100) == b"warm"

    def close(self) -> None:
        self.control.close()
        self.process.wait(PATIENCE)
        self._scratch.cleanup()


_zygotes: dict[str, Zygote] = {}


def zygote(variant: str) -> Zygote:
    if variant not in _zygotes:
        _zygotes[variant] = Zygote(variant)
    return _zygotes[variant]


def close_zygotes() -> None:
    while _zygotes:
        _zygotes.popitem()[1].close()


class Session:
    """A worker and the two ends that a front holds: requests down, frames and output up."""

    def __init__(self, variant: str = "bare", rehearse: bool = False, **setup: Any) -> None:
        self._requests, their_requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ups = [os.pipe() for _ in range(4)]
        message = b"rehearse" if rehearse else b"fork"
        orders, self._orders = os.pipe()
        theirs = [their_requests.detach(), *(write for _, write in ups), orders]
        socket.send_fds(zygote(variant).control, [message], theirs)
        for fd in theirs:
            os.close(fd)
        self._frames, self._out, self._err, pid = (read for read, _ in ups)
        self.pid = int(os.read(pid, 100))
        os.close(pid)
        self._count = 0
        self._look: Callable[[], Any] | None = None
        self._text = b""
        self.closed = False
        if setup:
            self.send("setup", 0, {"env": {}, "seed": None, "rehearse": False, **setup})

    def send(self, kind: str, id: int, body: Any) -> None:
        self._requests.send(zlib.compress(pickle.dumps((kind, id, body))))

    def start(self, code: str, **options: Any) -> int:
        self._count += 1
        body = {
            "code": code,
            "stdin": None,
            "interactive": False,
            "env": {},
            "result_limit": 1 << 20,
            "render_ms": 0,
            **options,
        }
        self.send("execute", self._count, body)
        return self._count

    def run(self, code: str, **options: Any) -> Done:
        self.start(code, **options)
        return self.wait()

    def answer(self, line: str | None) -> None:
        self.send("input", self._count, None if line is None else line.encode())

    def end_loop(self, screen: str = "still") -> None:
        os.write(self._orders, f"{self._count} {screen}".encode())

    def interrupt(self) -> None:
        os.kill(self.pid, signal.SIGINT)

    def wait(
        self,
        answers: list[Any] | None = None,
        patience: float = PATIENCE,
        look: Callable[[], Any] | None = None,
    ) -> Done:
        """Reads until the current execution is finished; answers questions with `answers`, and
        looks with `look` when its windows are painted."""
        done = Done()
        self._look = look
        out, err = bytearray(), bytearray()
        deadline = time.monotonic() + patience
        while not done.outcome:
            left = deadline - time.monotonic()
            assert left > 0, f"execution {self._count} did not end: {done}"
            ready, _, _ = select.select([self._out, self._err, self._frames], [], [], left)
            for fd, into in ((self._out, out), (self._err, err)):
                if fd in ready:
                    into += os.read(fd, 1 << 20)
            if self._frames in ready:
                self._read_frames(done, answers)
        for fd, into in ((self._out, out), (self._err, err)):
            while select.select([fd], [], [], 0)[0]:
                data = os.read(fd, 1 << 20)
                if not data:
                    break
                into += data
        done.stdout, done.stderr = out.decode(errors="replace"), err.decode(errors="replace")
        return done

    def _read_frames(self, done: Done, answers: list[Any] | None) -> None:
        data = os.read(self._frames, 1 << 20)
        if not data:
            raise EOFError(f"the worker is gone: {done}")
        self._text += data
        *frames, self._text = self._text.split(END.encode())
        for frame in frames:
            kind, id, *fields = frame.decode().split(FIELD)
            assert int(id) == self._count, f"a frame of execution {id} during {self._count}"
            assert not done.outcome, f"{kind} after finished"
            if kind == "line":
                done.lines.append(int(fields[0]))
                continue
            done.order.append(kind)
            self._apply(done, kind, fields, answers)

    def _apply(self, done: Done, kind: str, fields: list[str], answers: list[Any] | None) -> None:
        if kind == "result":
            number, display_id, bundle, metadata = fields
            data = pickle.loads(bytes.fromhex(bundle))
            assert all(type(k) is str and type(v) is bytes for k, v in data.items()), data
            done.results.append(Shown(int(number), display_id, data, json.loads(metadata)))
        elif kind == "error":
            assert done.error is None, "two errors"
            done.error = (fields[0], fields[1], fields[2])
        elif kind == "note":
            done.notes.append(fields[0])
        elif kind == "input_request":
            done.asked.append((fields[0], fields[1] == "1"))
            if answers is not None:
                self.answer(answers.pop(0))
        elif kind == "package_request":
            done.requested.append(fields[0].split("\n"))
            if answers is not None:
                self.send("package_reply", self._count, answers.pop(0))
        elif kind == "painted":
            if self._look is not None:
                done.seen = self._look()
            self.send("captured", self._count, None)
        elif kind == "finished":
            done.outcome, done.exit_code = fields[0], int(fields[1])

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._requests.close()
            for fd in (self._frames, self._out, self._err, self._orders):
                os.close(fd)
