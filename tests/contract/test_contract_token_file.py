# SPDX-License-Identifier: Apache-2.0
"""The file of tokens: what is refused, and how a changed one takes effect on SIGHUP."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sanitizer_log import report_in
from served import BUILD, IMAGE, SAFETY, Background, Server, running, until, within
from tenants import SECRETS, TOKENS, Caller, directory_with


@pytest.mark.parametrize(
    ("tokens", "mode", "named"),
    [
        pytest.param("{", 0o600, "not JSON", id="no JSON"),
        pytest.param({"token": []}, 0o600, "tokens", id="no list"),
        pytest.param({"tokens": [{"name": "x"}]}, 0o600, "tokens[0].token", id="no token"),
        pytest.param(
            {"tokens": [{"name": "x", "token": SECRETS["a"], "session": 5}]},
            0o600,
            "tokens[0].session",
            id="unknown field",
        ),
        pytest.param(
            {"tokens": [{"name": "x", "token": SECRETS["a"], "sessions": "5"}]},
            0o600,
            "tokens[0].sessions",
            id="text for a number",
        ),
        pytest.param(TOKENS, 0o644, "every user", id="world-readable"),
    ],
)
def test_a_wrong_file_is_refused_at_the_start(
    tokens: Any, mode: int, named: str, request: pytest.FixtureRequest
) -> None:
    directory = directory_with(tokens, mode)
    request.addfinalizer(lambda: shutil.rmtree(directory, ignore_errors=True))
    command = [str(BUILD / "bin" / "vitrine"), "serve", "--listen", "127.0.0.1:0"]
    command += ["--data", str(directory / "data"), "--tokens", str(directory / "tokens.json")]
    command += ["--image", str(IMAGE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SAFETY)
    assert done.returncode == 2, done
    assert named in done.stderr and "tokens.json" in done.stderr, done.stderr
    assert SECRETS["a"] not in done.stderr
    assert report_in(done.stderr) is None, done.stderr


class Served(Server):
    """`vitrine serve` itself, with a tokens file that can be changed."""

    def __init__(self, tokens: Any) -> None:
        self.owns_directory = True
        self.directory = directory_with(tokens)
        self.file = self.directory / "tokens.json"
        if os.geteuid() == 0:
            os.chown(self.file, 0, 0)  # which the front cannot read
        self.data = self.directory / "data"
        self.log = self.directory / "log"
        self.name = f"tokens-{os.getpid()}"
        running.append(self)
        command = [str(BUILD / "bin" / "vitrine"), "serve", "--listen", "127.0.0.1:0"]
        command += ["--data", str(self.data), "--image", str(IMAGE), "--pool", "1"]
        command += ["--tokens", str(self.file), "--auth", "token", "--name", self.name]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        assert line, self.read_log()
        self.port = int(line.rpartition(":")[2])
        self.host = f"127.0.0.1:{self.port}"
        self.token = (self.data / "token").read_text().strip()

    def write(self, tokens: Any) -> None:
        """In place, as an editor does it, then SIGHUP."""
        self.file.write_text(tokens if isinstance(tokens, str) else json.dumps(tokens))
        os.kill(self.process.pid, signal.SIGHUP)

    def said(self, text: str) -> int:
        return self.read_log().count(text)


@pytest.fixture
def start_served() -> Iterator[Callable[[Any], Served]]:
    """Servers that end with the test, and whose logs are searched for reports of the sanitizers."""
    started: list[Served] = []

    def start(tokens: Any) -> Served:
        started.append(Served(tokens))
        return started[-1]

    yield start
    for one in started:
        if one in running:
            one.end()


@pytest.fixture
def served(start_served: Callable[[Any], Served]) -> Served:
    return start_served({"tokens": TOKENS["tokens"][:2]})


def test_serve_hands_the_front_hashes_only(start_served: Callable[[Any], Served]) -> None:
    served = start_served(TOKENS)

    assert Caller(served, SECRETS["b"]).listed() == []
    if os.geteuid() == 0:
        text = (served.data / "tokens").read_text()
        assert not any(secret in text for secret in SECRETS.values())
        assert (served.data / "tokens").stat().st_mode & 0o777 == 0o600
    assert served.alive()


def test_a_report_of_the_sanitizers_is_found(start_served: Callable[[Any], Served]) -> None:
    served = start_served(TOKENS)
    front = Caller(served, served.token).info()["processes"]["front"]
    with open(f"/proc/{front}/fd/2", "ab", buffering=0) as stderr:
        stderr.write(b"==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n")

    with pytest.raises(AssertionError, match="heap-use-after-free"):
        served.end()


def open_socket(server: Server, token: str) -> socket.socket:
    client = server.socket()
    client.sendall(
        (
            f"GET /ws HTTP/1.1\r\nHost: {server.host}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            f"Authorization: Bearer {token}\r\n\r\n"
        ).encode()
    )
    assert client.recv(4096).startswith(b"HTTP/1.1 101 ")
    return client


def test_a_hangup_has_the_tokens_read_again(served: Served) -> None:
    a, b = (Caller(served, SECRETS[name]) for name in "ab")
    owner = Caller(served, served.token)
    of_a, of_b = a.create(), b.create()
    assert a.exec(of_a, "mark = 'of a'").status == b.exec(of_b, "mark = 'of b'").status == 200
    front = owner.info()["processes"]["front"]
    new = "another-secret-0123456789abcdef"
    execution = Background(lambda: b.exec(of_b, "import time; time.sleep(3); mark"))
    with open_socket(served, SECRETS["a"]) as kept, open_socket(served, SECRETS["b"]) as cut:
        # a gets another token and a quota, b goes, c comes.
        served.write(
            {
                "tokens": [
                    {"name": "a", "token": new, "sessions": 2},
                    {"name": "c", "token": "c" * 20},
                ]
            }
        )
        assert until(lambda: Caller(served, new).call("GET", "/v1/sessions").status == 200)

        frame = cut.recv(4096)
        assert frame[0] == 0x88 and frame[2:4] == (1008).to_bytes(2, "big"), frame
        kept.settimeout(0.3)
        with pytest.raises(TimeoutError):
            kept.recv(1)
    for old in (SECRETS["a"], SECRETS["b"]):
        Caller(served, old).call("GET", "/v1/sessions").is_problem(401, "token_needed")
    a, c = Caller(served, new), Caller(served, "c" * 20)
    assert a.exec(of_a, "mark").json["results"] == [{"text/plain": "'of a'"}]
    assert execution.result().json["results"] == [{"text/plain": "'of b'"}], "what runs is answered"
    assert until(lambda: len(a.listed()) == 1)
    assert a.create() and a.call("POST", "/v1/sessions", {}).json["code"] == "quota_sessions"
    assert c.listed() == []
    assert c.call("POST", "/reset", {}).status == 200
    assert c.call("GET", f"/v1/sessions/{of_b}").status == 404
    assert of_b in owner.listed(), "whose token went keeps its sessions; the owner may end them"
    assert owner.info()["processes"]["front"] == front, "nobody else noticed"

    # b comes back, with what it had; and a front that is killed finds the newest tokens.
    served.write({"tokens": [{"name": "b", "token": SECRETS["b"], "sessions": 1}]})
    assert until(lambda: Caller(served, SECRETS["b"]).call("GET", "/v1/sessions").status == 200)
    os.kill(front, signal.SIGKILL)
    b = Caller(served, SECRETS["b"])
    assert until(lambda: owner_answers(owner, front))
    assert b.listed() == [of_b]
    assert b.call("POST", "/v1/sessions", {}).json["code"] == "quota_sessions"
    a.call("GET", "/v1/sessions").is_problem(401, "token_needed")
    assert not any(secret in served.read_log() for secret in (*SECRETS.values(), new))
    assert served.stop() == (0, [])


def owner_answers(owner: Caller, dead: int) -> bool:
    try:
        return bool(owner.info()["processes"]["front"] != dead)
    except OSError:
        return False


@pytest.mark.parametrize(
    "wrong",
    ["{", '{"tokens": [{"name": "a"}]}', "", '{"tokens": [{"name": "x y", "token": "%s"}]}' % ("x" * 20), "owner's"],
)  # fmt: skip
def test_a_broken_file_changes_nothing(served: Served, wrong: str) -> None:
    if wrong == "owner's":
        wrong = json.dumps({"tokens": [{"name": "a", "token": served.token}]})
    for count in (1, 2):
        served.write(wrong)
        assert until(lambda count=count: served.said("the tokens stay as they were") >= count)

    assert Caller(served, SECRETS["a"]).call("GET", "/v1/sessions").status == 200
    assert Caller(served, served.token).info()["processes"]["keeper"] == served.process.pid
    served.file.unlink()
    os.kill(served.process.pid, signal.SIGHUP)
    assert until(lambda: served.said("the tokens stay as they were") >= 3)
    served.file.touch(0o600)
    served.write(TOKENS)
    assert within(
        lambda: Caller(served, SECRETS["few"]).call("GET", "/v1/sessions").status == 200
    ), served.read_log()


def test_hangups_in_a_crowd_are_all_heard(served: Served) -> None:
    for number in range(30):
        served.write({"tokens": [{"name": "a", "token": f"token-number-{number:08}"}]})

    last = Caller(served, "token-number-00000029")
    assert within(lambda: last.call("GET", "/v1/sessions").status == 200), served.read_log()
    assert Caller(served, "token-number-00000028").call("GET", "/v1/sessions").status == 401
