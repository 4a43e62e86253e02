# SPDX-License-Identifier: Apache-2.0
"""Keepers that the tests start: one as root, one as an ordinary user, shared by a whole run.

VITRINE_BUILD names the build directory (default build/dev). A keeper dies with this process,
whatever ends it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import client
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("VITRINE_BUILD", REPOSITORY / "build" / "dev")).resolve()
NOBODY = 65534
ROOT = os.geteuid() == 0
# In every keeper's environment and nowhere else; sessions look for it.
SECRET_PREFIX = "VTRN-SECRET-"
START_TIME = 120.0
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """Also leaves signals ignored, as nohup and shells do: sessions must not inherit that."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])


def processes() -> dict[int, int]:
    """Every process of the host that is not a zombie, and its parent."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path("/proc", entry, "stat").read_bytes()
            except OSError:
                continue
            state, parent = stat[stat.rindex(b")") + 2 :].split()[:2]
            if state not in (b"Z", b"X"):
                found[int(entry)] = int(parent)
    return found


def descendants(pid: int) -> set[int]:
    parents = processes()
    family = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in family} - family
        if not more:
            return family - {pid}
        family |= more


def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Whether the condition came true: for what nobody can be asked to tell us of."""
    latest = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > latest:
            return False
        time.sleep(0.005)
    return True


def remove_groups(group: Path) -> None:
    """Empty cgroups, the inner ones first."""
    for directory, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(directory)


class KeeperProcess:
    """A running keeper. `stop` is its orderly end."""

    counter = 0

    def __init__(self, mode: str, *options: str) -> None:
        KeeperProcess.counter += 1
        self.mode = mode
        self.name = f"test-{os.getpid()}-{KeeperProcess.counter}-{mode}"
        self.secret = SECRET_PREFIX + secrets.token_hex(16)
        self.directory = tempfile.mkdtemp(prefix="vitrine-test-")
        self.path = f"{self.directory}/control"
        self.log = open(f"{self.directory}/log", "w+b")
        self.log_start = 0
        base = 0x30000000 + ((os.getpid() * 8 + KeeperProcess.counter) % 8192) * 0x10000
        arguments = [BUILD / "bin" / "vitrine-keeper", "--control", self.path, "--name", self.name]
        if mode == "root":
            arguments += ["--uid-base", str(base)]
        ids = {}
        if mode == "unprivileged" and ROOT:
            os.chown(self.directory, NOBODY, NOBODY)
            ids = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
        self.process = subprocess.Popen(
            [*map(str, arguments), "--pool", "2", "--shells", "3", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env={"PATH": "/usr/bin:/bin", "VITRINE_TEST_SECRET": self.secret},
            cwd="/",
            preexec_fn=_die_with_parent,
            start_new_session=True,
            **ids,  # type: ignore[arg-type]
        )
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def _wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], START_TIME)
        line = self.process.stdout.readline() if ready else b""
        if line != f"vitrine-keeper: ready on {self.path}\n".encode():
            raise RuntimeError(f"the keeper did not start: {line!r}\n{self.read_log()}")

    def read_log(self) -> str:
        return os.pread(self.log.fileno(), 1 << 20, self.log_start).decode(errors="replace")

    def skip_log(self) -> None:
        self.log_start = os.fstat(self.log.fileno()).st_size

    def connect(self) -> client.Keeper:
        return client.Keeper(self.path)

    def alive(self) -> bool:
        return self.process.poll() is None

    def named(self, comm: str) -> list[int]:
        """The processes inside that gave themselves this name."""
        found = []
        for pid in descendants(self.process.pid):
            try:
                if Path(f"/proc/{pid}/comm").read_text() == f"{comm}\n":
                    found.append(pid)
            except OSError:
                continue
        return found

    def resident_kib(self, pid: int | None = None) -> int:
        for line in Path(f"/proc/{pid or self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    def descriptors(self) -> int:
        """How many the keeper has open."""
        try:
            return len(os.listdir(f"/proc/{self.process.pid}/fd"))
        except PermissionError:
            pytest.skip("needs root: looking into the keeper")

    def kill(self) -> None:
        """The end without any order; also of one that is dead already."""
        family = descendants(self.process.pid)
        self.process.kill()
        self.process.wait()
        eventually(lambda: not family & processes().keys())
        self._remove()

    def stop(self) -> tuple[int, set[int]]:
        """Its exit code, and the processes that it left behind."""
        family = descendants(self.process.pid)
        self.process.terminate()
        code = self.process.wait(timeout=START_TIME)
        eventually(lambda: not family & processes().keys(), 5.0)
        left = family & processes().keys()
        self._remove()
        return code, left

    def _remove(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        # What the next keeper of this name would sweep; there will be none.
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for place in (controllers.removeprefix("name="), "" if controllers else "unified"):
                remove_groups(Path(f"/sys/fs/cgroup/{place}{path}/vitrine-{self.name}"))


running: dict[str, KeeperProcess] = {}
_refusals: dict[str, str] = {}


def shared_keeper(mode: str) -> KeeperProcess:
    if mode == "root" and not ROOT:
        pytest.skip("needs root: the privileged keeper")
    if mode in _refusals:
        pytest.fail(_refusals[mode])
    found = running.get(mode)
    if found is None or not found.alive():
        try:
            found = running[mode] = KeeperProcess(mode)
        except Exception as error:
            _refusals[mode] = str(error)  # the next one would not start either
            raise
    return found


def nobody_left(connection: client.Keeper) -> bool:
    """Ends what it finds; sessions that are still being made are found a little later."""
    connection.end_all()
    return bool(connection.info()["sessions"] == 0)


MODES = ("root", "unprivileged")
both_modes = pytest.mark.parametrize("mode", MODES)
only_root = pytest.mark.parametrize("mode", MODES[:1])
