# SPDX-License-Identifier: Apache-2.0
"""`vitrine serve` as stock OpenEnv starts its image: under what a plain `docker run` leaves."""

from __future__ import annotations

import errno
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from served import BUILD, IMAGE, ROOT, SAFETY, until, within

FIRST_USER = 0x20000000 + 2 * 65536  # keeper_main.cc: ids of sessions, then of their wardens
USERS = 65536


def linkable_image(to: Path) -> Path:
    """The image by a path whose files can be linked from `to`. One that is mounted a second time
    (tests/reachable.py) has two, and links do not cross mounts."""
    probe = to / "probe"
    for image in (IMAGE, ROOT / "build" / "image"):
        try:
            os.link(image / "manifest.json", probe)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            continue
        probe.unlink()
        if image.samefile(IMAGE):
            return image
    raise AssertionError(f"{IMAGE} cannot be linked from {to}")


def make_image(to: Path) -> Path:
    """What packaging/Dockerfile makes: the image with the runtime in it. Files are links."""
    to.mkdir(parents=True)
    source = linkable_image(to) / "root"
    shutil.copytree(source, to / "root", symlinks=True, copy_function=os.link)
    shutil.copy(IMAGE / "manifest.json", to)
    python = json.loads((IMAGE / "manifest.json").read_text())["python"]
    runtime = BUILD / "runtime" / python.rpartition(".")[0]
    for path in sorted(runtime.rglob("*")):
        target = to / "root" / path.relative_to(runtime)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.unlink(missing_ok=True)  # a link to a file of the image that others use
        shutil.copy(path, target)
    return to


class Floored:
    def __init__(
        self,
        *options: str,
        init: bool = False,
        floor: str = "container",
        keeper: tuple[str, ...] = (),
    ) -> None:
        """`keeper`: options that only vitrine-keeper has; it is started itself then."""
        # Beside the image, so that its files can be linked.
        base = IMAGE.parent if os.stat(IMAGE).st_dev != os.stat("/tmp").st_dev else Path("/tmp")
        self.directory = Path(tempfile.mkdtemp(prefix="vitrine-floor-", dir=base))
        self.directory.chmod(0o755)
        self.image = make_image(self.directory / "image")
        self.homes = self.image / "root" / "home" / "sandbox"
        self.options = options
        self.floor = floor
        self.keeper_options = keeper
        self.start(init)

    def start(self, init: bool = False) -> None:
        confine = [sys.executable, str(Path(__file__).with_name("confine.py"))]
        command = [str(BUILD / "bin" / "vitrine"), "serve", "--isolation-floor", self.floor]
        command += ["--auth", "none", "--listen", "0.0.0.0:0", "--image", str(self.image)]
        command += ["--data", str(self.directory / "data"), *self.options]
        if self.keeper_options:
            data = str(self.directory / "data")
            command = [str(BUILD / "bin" / "vitrine-keeper"), "--isolation-floor", self.floor]
            command += ["--front", str(BUILD / "bin" / "vitrine-front"), "--listen", "0.0.0.0:0"]
            command += ["--image", str(self.image), "--data", data, *self.keeper_options]
            command += ["--", "--data", data, "--auth", "none"]
        with open(self.directory / "log", "wb") as log:
            self.process = subprocess.Popen(
                [*confine, *(["--init"] if init else []), *command],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, cwd="/",
            )  # fmt: skip
        assert self.process.stdout is not None
        self.namespace = within(self._namespace, 10)
        ready, _, _ = select.select([self.process.stdout], [], [], SAFETY)
        line = self.process.stdout.readline().decode() if ready else ""
        self.url = f"http://127.0.0.1:{line.strip().rpartition(':')[2]}"
        self.ready = line.startswith("vitrine: ready on ")

    def _namespace(self) -> str:
        own = os.readlink("/proc/self/ns/pid")
        try:
            inside = os.readlink(f"/proc/{self.process.pid}/ns/pid_for_children")
        except OSError:
            return ""
        return inside if inside != own else ""

    def log(self) -> str:
        return (self.directory / "log").read_text()

    def call(self, verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=SAFETY) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def session(self, **fields: Any) -> str:
        status, body = self.call("POST", "/v1/sessions", fields)
        assert status == 201, body
        return str(body["id"])

    def run(self, session: str, code: str, **fields: Any) -> Any:
        return self.call("POST", f"/v1/sessions/{session}/exec", {"code": code, **fields})[1]

    def sessions(self) -> list[int]:
        """Processes in the container with the user id of a session, or of a warden at work."""
        return [pid for pid, user in self.processes().items() if 0 <= user - FIRST_USER < USERS]

    def processes(self) -> dict[int, int]:
        """Everything in the container: number on this host to user id."""
        found = {}
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{entry}/ns/pid") == self.namespace:
                    found[int(entry)] = os.stat(f"/proc/{entry}").st_uid
            except OSError:
                continue
        return found

    def keeper(self) -> int:
        """Its number on this host. A warden has its name for a moment."""
        assert until(lambda: len(self.named("vitrine-keeper")) == 1)
        return self.named("vitrine-keeper")[0]

    def wardens(self) -> list[int]:
        return self.named("warden")

    def named(self, name: str) -> list[int]:
        found = []
        for pid in self.processes():
            try:
                if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                    found.append(pid)
            except OSError:
                continue
        return found

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(SAFETY)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def end(self) -> None:
        if self.process.poll() is None:
            self.stop()
        assert within(lambda: not self.processes()), self.processes()
        shutil.rmtree(self.directory)
