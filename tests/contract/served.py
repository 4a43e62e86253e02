# SPDX-License-Identifier: Apache-2.0
"""A server of our own, and the plainest client that can speak to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from answer_schemas import Description
from background import Background
from http_answer import Answer, read_all
from process_table import family, processes, remove_cgroups

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))

from sanitizer_log import report_in  # noqa: E402
from waiting import SAFETY, until, within  # noqa: E402

BUILD = Path(os.environ.get("VITRINE_BUILD", ROOT / "build" / "dev")).resolve()
IMAGE = Path(os.environ.get("VITRINE_IMAGE", ROOT / "build" / "image")).resolve()

_count = 0
running: list[Server] = []  # those that have not been ended
_description: Description | None = None


class Server:
    """vitrine-keeper with its front, in a directory of its own."""

    def __init__(
        self,
        *options: str,
        front: tuple[str, ...] = (),
        directory: Path | None = None,
        user: int | None = None,
        through: tuple[str, ...] = (),
    ) -> None:
        """`options` are the keeper's, `front` those of the front; `user`: an ordinary one to run it
        as, if this process may choose; `through`: a command that becomes the one behind it."""
        global _count
        _count += 1
        self.name = f"contract-{os.getpid()}-{_count}"
        self.owns_directory = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="vitrine-contract-"))
        self.directory.chmod(0o755)  # the front has its own uid and must get through
        self.data = self.directory / "data"
        self.log = self.directory / "log"
        running.append(self)
        command = [str(BUILD / "bin" / "vitrine-keeper"), "--name", self.name]
        command += ["--front", str(BUILD / "bin" / "vitrine-front")]
        command += ["--listen", "127.0.0.1:0", "--data", str(self.data)]
        if IMAGE.exists():
            command += ["--image", str(IMAGE)]
        ids: dict[str, Any] = {}
        if user is not None:
            os.chown(self.directory, user, user)
            ids = {"user": user, "group": user, "extra_groups": ()}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*through, *command, *options, "--", "--data", str(self.data), *front],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                **ids,
            )
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], SAFETY)
        self.ready_line = self.process.stdout.readline().decode() if ready else ""
        prefix = "vitrine: ready on http://127.0.0.1:"
        if not self.ready_line.startswith(prefix):
            text = self.read_log()
            self.end()
            raise RuntimeError(f"the server did not start: {self.ready_line!r}\n{text}")
        self.port = int(self.ready_line[len(prefix) :])
        self.host = f"127.0.0.1:{self.port}"
        self.token = (self.data / "token").read_text().strip()

    # ---- HTTP

    def connection(self, timeout: float = SAFETY) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def socket(self, timeout: float = SAFETY) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        over: http.client.HTTPConnection | None = None,
    ) -> Answer:
        """`body`: bytes and text as they are, anything else as JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes | str):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        connection = over or self.connection()
        try:
            # A server that refuses a body may close before it has read it all.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, body, headers)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        finally:
            if over is None:
                connection.close()
        self.check(method, path, answer)
        return answer

    def check(self, method: str, path: str, answer: Answer) -> None:
        """Every answer is as /openapi.json says."""
        global _description
        content = (answer.headers["Content-Type"] or "").partition(";")[0]
        if content not in ("application/json", "application/problem+json"):
            return
        if _description is None:
            connection = self.connection()
            connection.request("GET", "/openapi.json", headers=self.authorised())
            described = connection.getresponse()
            document = described.read()
            connection.close()
            if described.status != 200:
                return  # a server that is closed to us
            _description = Description(json.loads(document))
        schema = _description.schema_of(method, path, answer.status, content)
        if schema is not None:
            mistakes = _description.mistakes(answer.json, schema)
            assert not mistakes, f"{method} {path} is not as described: {mistakes}"

    def get(self, path: str, **more: Any) -> Answer:
        return self.call("GET", path, **more)

    def post(self, path: str, body: Any = None, **more: Any) -> Answer:
        return self.call("POST", path, body, **more)

    def raw(self, request: bytes, timeout: float = SAFETY) -> bytes:
        """What comes back until the server closes. The request should ask for that."""
        with self.socket(timeout) as client:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(request)
            return read_all(client)

    def authorised(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    # ---- the server's own state

    def info(self) -> dict[str, Any]:
        answer = self.get("/v1/info")
        assert answer.status == 200, answer
        return dict(answer.json)

    def front(self) -> int:
        return int(self.info()["processes"]["front"])

    def resident_kb(self) -> int:
        text = Path(f"/proc/{self.front()}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0])

    def metrics(self) -> dict[str, float]:
        """Every sample by its name and labels as they are written."""
        samples = {}
        for line in self.get("/metrics").body.decode().splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                samples[name] = float(value)
        return samples

    def listed(self) -> list[str]:
        ids: list[str] = []
        after = ""
        while True:
            page = self.get(f"/v1/sessions?limit=1000{after}", headers=self.authorised())
            assert page.status == 200, page
            ids += [one["id"] for one in page.json["sessions"]]
            if page.json["next"] is None:
                return ids
            after = f"&after={page.json['next']}"

    def kill_front(self) -> int:
        """kill -9, then waits until another answers. The pid of the dead one."""
        pid = self.front()
        os.kill(pid, signal.SIGKILL)
        self.wait_for_front(pid)
        return pid

    def wait_for_front(self, dead: int) -> None:
        def another() -> bool:
            try:
                return self.front() != dead
            except (OSError, http.client.HTTPException):
                return False

        assert within(another), f"no front answers:\n{self.read_log()}"

    # ---- its life

    def create(self, **fields: Any) -> Session:
        answer = self.post("/v1/sessions", fields)
        assert answer.status == 201, answer
        return Session(self, answer.json)

    def read_log(self) -> str:
        return self.log.read_text(errors="replace")

    def alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> tuple[int, list[str]]:
        """Its exit code, and what lives on of it."""
        members = family(self.process.pid)
        self.process.terminate()
        code = self.process.wait(SAFETY)
        within(lambda: not members & processes().keys(), 10)
        left = [
            f"{pid} {Path(f'/proc/{pid}/comm').read_text().strip()}"
            for pid, _ in members & processes().keys()
        ]
        return code, left

    @contextlib.contextmanager
    def must_end_cleanly(self) -> Iterator[Server]:
        """For those that whole suites share: at the end nothing of it may be left."""
        try:
            yield self
            verdict = self.stop()
            assert verdict == (0, []), f"{verdict}\n{self.read_log()}"
        finally:
            self.end()

    def end(self) -> None:
        if self in running:
            running.remove(self)
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(20)
        if self.process.stdout:
            self.process.stdout.close()
        report = report_in(self.read_log()) if self.log.exists() else None
        if self.owns_directory:
            shutil.rmtree(self.directory, ignore_errors=True)
        assert report is None, f"the front's sanitizers report:\n{report}"
        if self.process.returncode != 0:
            assert within(lambda: remove_cgroups(self.name), 20), "its cgroups stay"


class Session:
    def __init__(self, server: Server, shown: dict[str, Any]) -> None:
        self.server = server
        self.shown = shown
        self.id = str(shown["id"])
        self.path = f"/v1/sessions/{self.id}"

    def call(self, method: str, below: str = "", body: Any = None, **more: Any) -> Answer:
        return self.server.call(method, self.path + below, body, **more)

    def exec(self, code: str, **fields: Any) -> Answer:
        return self.call("POST", "/exec", {"code": code, **fields})

    def run(self, code: str, **fields: Any) -> dict[str, Any]:
        """The execution, which must have been answered."""
        answer = self.exec(code, **fields)
        assert answer.status == 200, answer
        return dict(answer.json)

    def value(self, expression: str) -> str:
        execution = self.run(expression)
        assert execution["outcome"] == "ok", execution
        return str(execution["results"][-1]["text/plain"])

    def show(self) -> dict[str, Any]:
        answer = self.call("GET")
        assert answer.status == 200, answer
        return dict(answer.json)

    def history(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        after = ""
        while True:
            page = self.call("GET", f"/executions?limit=500{after}")
            assert page.status == 200, page
            rows += page.json["executions"]
            if page.json["next"] is None:
                return rows
            after = f"&after={page.json['next']}"

    def put(self, name: str, content: bytes) -> Answer:
        return self.call("PUT", "/files/" + quote(name), content)

    def file(self, name: str, **headers: str) -> Answer:
        return self.call("GET", "/files/" + quote(name), headers=headers)

    def names(self, directory: str = "") -> list[str]:
        answer = self.call("GET", "/files?path=" + quote(directory))
        assert answer.status == 200, answer
        return [one["name"] for one in answer.json["files"]]

    def is_running(self) -> bool:
        return bool(self.show()["state"] == "busy")

    def running_id(self) -> str:
        rows = self.call("GET", "/executions?limit=1").json["executions"]
        assert rows and rows[0]["state"] == "running", rows
        return str(rows[0]["id"])

    def background(self, code: str, **fields: Any) -> Background:
        """Starts it and comes back once the server has it."""
        task = Background(lambda: self.exec(code, **fields))
        assert within(lambda: task.is_over() or self.is_running()), "it does not begin"
        return task

    def settled(self, code: str, **fields: Any) -> Background:
        """Starts it and comes back once the code itself runs."""
        task = self.background("open('.begun', 'w').close()\n" + code, **fields)
        assert until(lambda: task.is_over() or self.file(".begun").status == 200)
        self.call("DELETE", "/files/.begun")
        return task

    def worker(self) -> int:
        """The host's pid of the process that runs the code."""
        inside = self.value("import os; os.readlink('/proc/self/ns/pid') + ' ' + str(os.getpid())")
        namespace, number = inside.strip("'").split()
        for pid, _ in processes():
            try:
                if os.readlink(f"/proc/{pid}/ns/pid") != namespace:
                    continue
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            if status.partition("NSpid:")[2].split("\n")[0].split()[-1] == number:
                return pid
        raise AssertionError("the worker is not among the processes")

    def delete(self) -> Answer:
        return self.call("DELETE")


class Stream:
    """An NDJSON answer, line by line."""

    def __init__(self, session: Session, code: str, path: str = "/exec", **fields: Any) -> None:
        self.connection = session.server.connection()
        headers = {"Content-Type": "application/json", "Accept": "application/x-ndjson"}
        body = json.dumps({"code": code, **fields})
        self.connection.request("POST", session.path + path, body, headers)
        self.response = self.connection.getresponse()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while line := self.response.readline():
            yield json.loads(line)

    def next(self) -> dict[str, Any]:
        return dict(json.loads(self.response.readline()))

    def close(self) -> None:
        self.response.close()
        self.connection.close()
