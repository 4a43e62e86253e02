# SPDX-License-Identifier: Apache-2.0
"""`vitrine.local()`: a server for this process, if none runs already."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from . import _guardian
from .calls import Call
from .errors import ConnectionFailed, StartFailed, VitrineError
from .transport import Address, close_shared, find_address, local_addresses, shared

_PREFIX = "vitrine: ready on "


class Server:
    """A server in use by this process; made by `vitrine.local()`."""

    def __init__(
        self,
        address: Address,
        guardian: subprocess.Popen[bytes] | None,
        pid: int,
        directory: str = "",
        *,
        default: bool,
    ) -> None:
        self._address = address
        self._guardian = guardian
        self._directory = directory
        self._process = os.pidfd_open(pid) if pid else -1
        self.pid = pid
        """The server's process, or 0 if it was running already."""
        self._is_default = default
        if default:
            local_addresses.append(address)

    @property
    def url(self) -> str:
        return self._address.url

    @property
    def token(self) -> str | None:
        return self._address.token

    @property
    def is_private(self) -> bool:
        """Whether this process started it; it then ends with this process."""
        return self.pid != 0

    def info(self) -> dict[str, Any]:
        """The server's description of itself: version, isolation in force, limits, pools."""
        return dict(shared(self._address).call(Call("GET", "/v1/info")))

    def close(self) -> None:
        """Stops it with all its sessions, if this process started it."""
        if self._is_default:
            self._is_default = False
            local_addresses.remove(self._address)
        guardian, self._guardian = self._guardian, None
        if guardian is None:
            return
        close_shared(self._address)
        _stop(guardian)
        if guardian.returncode != 0:  # it was killed, and could not do its work
            _end(self._process)
            shutil.rmtree(self._directory, ignore_errors=True)
        os.close(self._process)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Server {self.url}{' (private)' if self.is_private else ''}>"


def local(
    *,
    private: bool = False,
    pool: int = 1,
    image: str | os.PathLike[str] | None = None,
    program: str | os.PathLike[str] | None = None,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    default: bool = True,
) -> Server:
    """The server at the default address or VITRINE_URL; if there is none, starts one.

    >>> with vitrine.local():
    ...     vitrine.run("6 * 7").value
    42

    Until it is closed, `Sandbox()` and `vitrine.run()` use it. A server that was started here ends
    with `close()` and with this process, even if it crashes.

    Args:
        private: start one even if another runs.
        pool: the number of warm sessions.
        image: the runtime image; by default VITRINE_IMAGE, or the one beside the program.
        program: the `vitrine` program; by default VITRINE_BIN, the one in PATH, or the one that was
            built in the source tree around this file or the current directory.
        options: more arguments for `vitrine serve`.
        env: more environment variables for it.
        timeout: seconds for its start.
        default: whether `Sandbox()` and `vitrine.run()` use it meanwhile.
    """
    address = find_address()
    if not private and (_is_vitrine(address) or _is_named(address)):
        return Server(address, None, 0, default=default)
    if sys.platform != "linux":
        raise StartFailed("the server runs on Linux only", remedy="name one with VITRINE_URL")
    found = find_program(program)
    command = [str(found), "serve", "--listen", "127.0.0.1:0", "--pool", str(pool)]
    image = image or os.environ.get("VITRINE_IMAGE")
    if image:
        command += ["--image", str(Path(image).resolve())]
    directory = tempfile.mkdtemp(prefix="vitrine-local-")
    os.chmod(directory, 0o755)  # the server's front has a user id of its own and must get through
    data = os.path.join(directory, "data")
    command += ["--data", data, "--ephemeral", *options]
    guardian = subprocess.Popen(
        [sys.executable, "-I", "-S", _guardian.__file__, directory, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **(env or {})},
        start_new_session=True,  # Ctrl-C is for us; we end it
    )
    try:
        url, pid = _await_ready(guardian, timeout)
    except BaseException:
        _stop(guardian)
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return Server(Address(url, _read_token(data)), guardian, pid, directory, default=default)


def find_program(given: str | os.PathLike[str] | None = None) -> Path:
    """The `vitrine` program. One that was named must exist; else the first that is found."""
    named = given or os.environ.get("VITRINE_BIN")
    if named:
        path = Path(named)
        if path.is_dir():
            path = path / "vitrine"
        if not os.access(path, os.X_OK):
            raise StartFailed(
                f"there is no program at {str(path)!r}", remedy="correct VITRINE_BIN or program="
            )
        return path.resolve()
    for path in _places():
        if os.access(path, os.X_OK) and path.is_file():
            return path.resolve()
    raise StartFailed(
        "the `vitrine` program was not found, so no server can be started",
        remedy="build it with `./dev build`, put it in PATH, or set VITRINE_BIN to it",
    )


def _places() -> Iterator[Path]:
    if found := shutil.which("vitrine"):
        yield Path(found)
    for start in (Path(__file__).resolve().parent, Path.cwd()):
        for root in (start, *start.parents):
            if (root / "dev").is_file() and (root / "image").is_dir():
                yield root / "build/release/bin/vitrine"
                yield root / "build/bin/vitrine"


def _is_named(address: Address) -> bool:
    """A server that was asked for by name must be there: no other one takes its place."""
    if address.url != (os.environ.get("VITRINE_URL") or "").rstrip("/"):
        return False
    raise ConnectionFailed(
        f"VITRINE_URL names {address.url}, but no Vitrine server answers there",
        remedy="start it, or unset VITRINE_URL to have one started here",
    )


def _is_vitrine(address: Address) -> bool:
    try:
        shown = httpx.get(f"{address.url}/v1/info", timeout=2, trust_env=False).json()
        return isinstance(shown, dict) and shown.get("name") == "vitrine"
    except (httpx.HTTPError, ValueError):
        return False


def _await_ready(guardian: subprocess.Popen[bytes], timeout: float) -> tuple[str, int]:
    assert guardian.stdout is not None
    end = time.monotonic() + timeout
    line = b""
    while not line.endswith(b"\n"):
        left = end - time.monotonic()
        if left <= 0 or not select.select([guardian.stdout], [], [], left)[0]:
            raise StartFailed(
                f"the server was not ready after {timeout:g} s", remedy="give a larger timeout="
            )
        block = os.read(guardian.stdout.fileno(), 4096)
        if not block:
            raise StartFailed("the server could not be started")
        line += block
    said = json.loads(line)
    if "error" in said:
        raise StartFailed(
            f"the server did not start: {said['error']}",
            remedy="`vitrine doctor` reports what this host lacks",
        )
    ready = str(said["ready"])
    if not ready.startswith(_PREFIX):
        raise VitrineError(f"this is not a Vitrine server: {ready!r}")
    return ready[len(_PREFIX) :], int(said["pid"])


def _stop(guardian: subprocess.Popen[bytes]) -> None:
    """The end of its stdin is its sign to stop the server; then it ends."""
    for stream in (guardian.stdin, guardian.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    try:
        guardian.wait(_guardian.STOP_S + 10)
    except subprocess.TimeoutExpired:
        guardian.kill()
        guardian.wait()


def _end(process: int) -> None:
    """Ends the server behind a pidfd: no other process can be meant."""
    for number, patience in ((signal.SIGTERM, _guardian.STOP_S), (signal.SIGKILL, 10)):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, number)
        if select.select([process], [], [], patience)[0]:
            return


def _read_token(data: str) -> str | None:
    try:
        return Path(data, "token").read_text().strip() or None
    except OSError:
        return None
