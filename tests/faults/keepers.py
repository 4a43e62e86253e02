# SPDX-License-Identifier: Apache-2.0
"""Keepers of our own: started, asked, counted and ended by the tests of this folder."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import census

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "engine"))

import client  # noqa: E402

import wire  # noqa: E402

BUILD = Path(os.environ.get("VITRINE_BUILD", ROOT / "build"))
PROGRAM = (BUILD / "bin" / "vitrine-keeper").resolve()
IMAGE = Path(os.environ.get("VITRINE_IMAGE", ROOT / "build" / "image"))
NOBODY = 65534
CLONE_NEWUSER = 0x10000000
# Who runs the keeper: both by the same code, so both must hold.
USERS = (0, NOBODY) if os.geteuid() == 0 else (os.geteuid(),)
SAFETY = 30.0  # seconds until a test is given up; nothing is expected to take this long

# Neither default limits nor a pooled shell: everything is built for this one request.
UNUSUAL = wire.Limits(disk_bytes=64 << 20)


def start_unusual(control: client.Keeper, variant: str = "bare") -> int:
    """Requests an unusual session; finish_create() waits for the answer."""
    kind = bytes([wire.VARIANTS[variant], wire.LIFETIMES["session"]])
    return control.start(wire.CREATE, kind + UNUSUAL.encode() + wire.unadorned())


def finish_create(control: client.Keeper, number: int) -> client.Session:
    reader, fds = control.finish(number)
    return client.Session(control, wire.opened(reader, fds))


def demote(uid: int) -> Callable[[], None]:
    def change() -> None:
        if uid != os.geteuid():
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)

    return change


class Process:
    """A keeper's process, whether or not it ever becomes ready."""

    def __init__(
        self,
        *options: str,
        uid: int = 0,
        name: str = "",
        wrapper: tuple[str, ...] = (),
        before: Callable[[], None] | None = None,
        directory: Path | None = None,
        image: Path | str = IMAGE,
    ) -> None:
        self.uid = uid
        self.name = name or f"faults-{os.getpid()}-{uid}"
        self.owns_directory = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="vitrine-faults-"))
        os.chown(self.directory, uid, -1)
        self.control = str(self.directory / "control")
        self.log = self.directory / "log"
        self.options = options
        command = [*wrapper, str(PROGRAM), "--control", self.control, "--name", self.name]
        if "--image" not in options:
            command += ["--image", str(image)]

        def prepare() -> None:
            demote(uid)()
            if before:
                before()

        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                preexec_fn=prepare,
                cwd="/",
            )
        self.outer = ""

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def stderr(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_ready(self, seconds: float = SAFETY) -> bool:
        """False if it ended instead."""
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        said = b""
        end = time.monotonic() + seconds
        while b"\n" not in said:
            more = self.process.stdout.read()
            if more == b"" and self.process.poll() is not None:
                return False
            said += more or b""
            if time.monotonic() > end:
                raise TimeoutError(f"neither ready nor ended: {self.stderr}")
            time.sleep(0.005)
        assert said.startswith(b"vitrine-keeper: ready on "), said
        return True

    def wait_end(self, seconds: float = SAFETY) -> int:
        return self.process.wait(seconds)

    def connect(self) -> client.Keeper:
        return client.Keeper(self.control)

    def info(self) -> dict[str, Any]:
        with self.connect() as keeper:
            return keeper.info()

    def roles(self) -> census.Roles:
        info = self.info()
        self.outer = census.namespace(info["foundation"], "user") or self.outer
        return census.Roles(
            keeper=self.pid,
            builder=info["builder"],
            foundation=info["foundation"],
            zygotes={one["variant"]: one["pid"] for one in info["zygotes"]},
        )

    def option(self, name: str, default: int) -> int:
        return int(self.options[self.options.index(name) + 1]) if name in self.options else default

    def is_full(self) -> bool:
        try:
            info = self.info()
        except (OSError, EOFError):
            return False
        zygotes = {one["variant"] for one in info["zygotes"] if one["warm"]}
        return (
            info["pools"]["loaded"] == self.option("--pool", 4)
            and info["pools"]["bare"] == self.option("--pool-bare", 0)
            and info["pools"]["empty"] == self.option("--shells", 4)
            and all(one["warm"] for one in info["zygotes"])
            and zygotes >= {"bare", "loaded"}
        )

    def wait_full(self, seconds: float = SAFETY) -> None:
        full = census.within(self.is_full, seconds)
        assert full, f"pools stay empty: {self.info()} {self.stderr}"

    def census(self) -> census.Census:
        return census.take(self.roles(), self.name, self.outer, [self.directory])

    def wait_same(self, before: census.Census, seconds: float = SAFETY) -> census.Census:
        """Waits until everything is as it was; fails with what is not."""
        self.wait_full(seconds)
        end = time.monotonic() + seconds
        while left := before.difference(now := self.census()):
            if time.monotonic() > end:
                raise AssertionError("left behind or missing:\n  " + "\n  ".join(left))
            time.sleep(0.02)
        return now

    def remains(self) -> list[str]:
        """What is there of an ended keeper."""
        found = [
            f"process {pid} {census._text(f'/proc/{pid}/comm').strip()} {census.state(pid)}"
            for pid in census.belonging(-1, self.name, self.outer)
            if census.alive(pid)
        ]
        return found + [f"cgroup {path}" for path in census.cgroup_directories(self.name)]

    def terminate(self, signum: int = signal.SIGTERM, seconds: float = SAFETY) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signum)
        return self.wait_end(seconds)

    def _remove_cgroups(self) -> bool:
        """False while somebody is still ending in there."""
        for path in sorted(census.cgroup_directories(self.name), reverse=True):
            with contextlib.suppress(OSError):
                path.rmdir()
        return not census.cgroup_directories(self.name)

    def discard(self) -> None:
        """Ends it, however it is, and what it may have left."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(20)
        if self.process.stdout:
            self.process.stdout.close()
        census.until(self._remove_cgroups)
        if self.owns_directory:
            shutil.rmtree(self.directory, ignore_errors=True)


@contextlib.contextmanager
def started(*options: str, ready: bool = True, **how: Any) -> Iterator[Process]:
    keeper = Process(*options, **how)
    try:
        if ready:
            assert keeper.wait_ready(), f"it ended: {keeper.stderr}"
            keeper.wait_full()
            keeper.roles()
        yield keeper
    finally:
        keeper.discard()


class Faults:
    """The file that tells a keeper which call fails next: of a shell, a worker, a display."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set()

    def set(self, shell: int = 0, worker: int = 0, display: int = 0) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(f"{shell} {worker} {display}\n")
        new.chmod(0o644)
        new.rename(self.path)


@contextlib.contextmanager
def faulty(uid: int, recycled: int) -> Iterator[tuple[Process, Faults]]:
    with tempfile.TemporaryDirectory(prefix="vitrine-faults-") as directory:
        faults = Faults(Path(directory, "faults"))
        options = ("--pool", "0", "--shells", "1", "--recycled", str(recycled))
        place = Path(directory)
        with started(*options, "--faults", str(faults.path), uid=uid, directory=place) as keeper:
            yield keeper, faults


def limit_namespaces(member: int, limits: dict[str, int]) -> None:
    """Sets user.max_*_namespaces in the user namespace of a process; needs root."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            fd = os.open(f"/proc/{member}/ns/user", os.O_RDONLY)
            if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWUSER) == 0:
                for kind, most in limits.items():
                    Path(f"/proc/sys/user/max_{kind}_namespaces").write_text(str(most))
                status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0, "the limits could not be set"


def set_limit(pid: int, what: int, soft: int) -> None:
    """Changes a soft limit of another process, whosever it is; needs root."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            fd = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
            if census.namespace(pid, "user") != census.namespace(os.getpid(), "user"):
                ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWUSER)
            else:
                demote(uid_of(pid))()
            resource.prlimit(pid, what, (soft, resource.prlimit(pid, what)[1]))
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0, "the limit could not be set"


def uid_of(pid: int) -> int:
    status = census._text(f"/proc/{pid}/status")
    return int(status.partition("\nUid:")[2].split()[0])


def session_pids(session: client.Session) -> dict[int, int]:
    """The processes of a session, by their numbers inside: 1 is init, 2 (or more) the worker."""
    execution = session.run("import os; (os.readlink('/proc/self/ns/pid'), os.getpid())")
    assert execution.outcome == "ok", (execution.error, execution.death)
    inside = execution.texts[0].split("'")[1]
    found = {
        census.inner_pid(pid): pid
        for pid in census.pids()
        if census.namespace(pid, "pid") == inside and census.alive(pid)
    }
    found[2] = found[int(execution.texts[0].rpartition(",")[2].strip(" )"))]
    return found
