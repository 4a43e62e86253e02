# SPDX-License-Identifier: Apache-2.0
"""An index that lies, stalls, or wants a password. It is on 127.0.0.2, through the proxy."""

from __future__ import annotations

import base64
import hashlib
import http.server
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from served import Server, within
from shop import Shop
from test_packages import layers, run, value
from wheels import wheel

HOST = "127.0.0.2"  # not what NO_PROXY names
SECRET = "correct-horse-battery"


class Index:
    """A simple index. What it says of a file's hash is up to `hash_of`."""

    def __init__(
        self, files: dict[str, bytes], host: str = HOST, tls: ssl.SSLContext | None = None
    ) -> None:
        self.files = files
        self.pages: dict[str, str] = {}  # of packages whose page is another one
        self.hash_of: Callable[[bytes], str] = lambda data: hashlib.sha256(data).hexdigest()
        self.stalls = threading.Event()
        self.over = threading.Event()
        self.released: set[str] = set()  # packages that are not held up by `stalls`
        self.password: str | None = None
        self.asked: list[str] = []
        self.sent: list[str | None] = []  # the credentials that came with each
        self.moved: dict[str, str] = {}  # paths that are elsewhere
        self.before = b""  # what is sent before each answer
        self.lengths: dict[str, int] = {}  # what it says of a file's length when it is asked
        self.fetched: list[str] = []  # files
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.answer(self)

            def do_HEAD(self) -> None:
                index.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                pass  # whoever stopped waiting

        self.server = Quiet((host, 0), Handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://{host}:{self.server.server_port}/simple"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        self.asked.append(request.path)
        request.wfile.write(self.before)
        self.sent.append(request.headers["Authorization"])
        if request.path in self.moved:
            request.send_response(302)
            request.send_header("Location", self.moved[request.path])
            request.send_header("Content-Length", "0")
            return request.end_headers()
        if self.stalls.is_set():
            self.hold(request.path.replace("_", "-"))
        wanted = base64.b64encode(f"user:{self.password}".encode()).decode()
        if self.password and request.headers["Authorization"] != f"Basic {wanted}":
            return self.send(request, 401, b"who are you?", "text/plain")
        parts = request.path.strip("/").split("/")
        if parts[0] == "simple":
            mine = [name for name in self.files if name.split("-")[0].replace("_", "-") == parts[1]]
            links = "".join(
                f'<a href="/files/{name}#sha256={self.hash_of(self.files[name])}">{name}</a>\n'
                for name in mine
            )
            links = self.pages.get(parts[1], links)
            return self.send(request, 200 if links else 404, links.encode(), "text/html")
        data = self.files.get(parts[-1])
        if request.command == "HEAD" and parts[-1] in self.lengths:
            request.send_response(200)
            request.send_header("Content-Length", str(self.lengths[parts[-1]]))
            return request.end_headers()
        if request.command == "GET" and not request.headers["Range"]:
            self.fetched.append(parts[-1])
        self.send(request, 200 if data else 404, data or b"", "application/zip")

    def hold(self, path: str) -> None:
        """Returns once everything goes on, or the package that the path names."""
        latest = time.monotonic() + 60
        while not self.over.wait(0.02) and time.monotonic() < latest:
            if any(name in path for name in self.released):
                return

    def send(
        self, request: http.server.BaseHTTPRequestHandler, status: int, body: bytes, kind: str
    ) -> None:
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        if status == 401:
            request.send_header("WWW-Authenticate", 'Basic realm="index"')
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = [wheel(tmp_path, "vi_one"), wheel(tmp_path, "vi_two")]
    one = Index({path.name: path.read_bytes() for path in made})
    yield one
    one.close()


@pytest.fixture
def serve_index(serve: Callable[..., Server]) -> Callable[..., Server]:
    def one(url: str, **settings: object) -> Server:
        options = ("--egress-allow-private", f"{HOST}/32")
        return serve(options=options, index_url=url, find_links=0, **settings)

    return one


def test_an_index_is_reached_through_the_proxy(
    index: Index, serve_index: Callable[..., Server]
) -> None:
    server = serve_index(index.url)

    assert value(run(server, "import vi_one; vi_one.version", packages=["vi-one"])) == "'1.0'"
    assert "/simple/vi-one/" in index.asked
    asked = len(index.asked)
    run(server, "1", packages=["vi-one"])
    assert len(index.asked) == asked, "what is there is not asked for again"


def test_a_file_that_is_not_what_was_promised_is_refused(
    index: Index, serve_index: Callable[..., Server]
) -> None:
    index.hash_of = lambda data: hashlib.sha256(data + b"!").hexdigest()
    server = serve_index(index.url)

    server.post("/v1/run", {"code": "1", "packages": ["vi-one"]}).is_problem(502, "hash_mismatch")

    assert layers(server)["layers"] == []


def test_an_index_that_stalls_is_given_up(index: Index, serve_index: Callable[..., Server]) -> None:
    index.stalls.set()
    server = serve_index(index.url, time_s=4)

    answer = server.post("/v1/run", {"code": "1", "packages": ["vi-one"]})

    answer.is_problem((503, 504))
    assert answer.json["code"] in ("install_timeout", "offline"), answer
    assert run(server, "6 * 7")["outcome"] == "ok"


def test_what_is_no_wheel_is_refused(index: Index, serve_index: Callable[..., Server]) -> None:
    name = next(name for name in index.files if name.startswith("vi_one"))
    index.files[name] = b"PK\3\4 this is no archive" * 100
    server = serve_index(index.url)

    answer = server.post("/v1/run", {"code": "1", "packages": ["vi-one"]})

    assert answer.status in (422, 502), answer
    assert layers(server)["layers"] == []


def test_a_password_reaches_the_index_and_nobody_else(
    index: Index, serve_index: Callable[..., Server]
) -> None:
    index.password = SECRET
    server = serve_index(index.url.replace("http://", f"http://user:{SECRET}@"))

    code = "import os, vi_one\nstr(dict(os.environ)) + open('/proc/self/mountinfo').read()"
    assert SECRET not in value(run(server, code, packages=["vi-one"]))
    refused = server.post("/v1/run", {"code": "1", "packages": ["vi-none"]})
    refused.is_problem(422, "package_not_found")
    assert SECRET not in refused.body.decode()
    assert SECRET not in server.read_log()


def test_an_index_that_may_not_be_reached_says_how(index: Index, shop: Shop) -> None:
    server = shop.serve(index_url=index.url, find_links=0)

    answer = server.post("/v1/run", {"code": "1", "packages": ["vi-one"]})

    answer.is_problem(503, "offline")
    assert "--egress-allow-private" in answer.json["remedy"]
    assert index.asked == []
    server.end()


def test_the_index_is_for_installations_alone(index: Index, shop: Shop) -> None:
    """Its address is not public: the keeper is told it, and only the installer gets there."""
    server = shop.serve(options=("--egress-index", HOST), index_url=index.url, find_links=0)
    rule = index.url.removeprefix("http://").removesuffix("/simple")
    fetch = f"import urllib.request; urllib.request.urlopen({index.url!r}, timeout=5)"

    assert value(run(server, "import vi_one; 1", packages=["vi-one"])) == "1"
    asked = len(index.asked)
    execution = run(server, fetch, packages=["vi-one"], network={"allow": [rule]})

    assert execution["outcome"] == "exception", execution
    assert execution["network"][0]["decision"] == "refused", execution
    assert len(index.asked) == asked
    marked = {"code": "1", "network": {"allow": ["!index", rule]}}
    server.post("/v1/run", marked).is_problem(422)
    for field in ({"index": True}, {"gateway_port": 80}):
        server.post("/v1/run", {"code": "1", "network": {"allow": [rule], **field}}).is_problem(422)
    server.end()


def test_an_interrupted_installation_is_given_up_and_the_next_one_works(
    index: Index, serve_index: Callable[..., Server]
) -> None:
    server = serve_index(index.url)
    session = server.create(imports=["dataclass"])  # it knows the image now
    before = server.info()["sessions"]
    index.stalls.set()
    task = session.background("%pip install vi-one", timeout_s=60)
    assert within(lambda: index.asked), "the installer does not begin"

    assert session.call("POST", "/interrupt").status in (200, 202, 204)

    assert task.result().json["outcome"] == "interrupted"
    assert within(lambda: server.info()["sessions"] == before), "the installer goes on"
    index.stalls.clear()
    done = session.run("%pip install vi-two\nimport vi_two\nvi_two.version", timeout_s=60)
    assert value(done) == "'1.0'"
    session.delete()


def test_code_that_catches_the_interrupt_may_ask_again(
    index: Index, serve_index: Callable[..., Server]
) -> None:
    server = serve_index(index.url)
    session = server.create(imports=["dataclass"])
    index.stalls.set()
    code = (
        "try:\n    await vitrine_install('vi-one')\nexcept KeyboardInterrupt:\n    pass\n"
        "pins = await vitrine_install('vi-two')\npins"
    )
    task = session.background(code, timeout_s=60)
    assert within(lambda: index.asked), "the installer does not begin"

    index.stalls.clear()
    session.call("POST", "/interrupt")

    assert value(task.result().json) == "['vi-two==1.0']"
    session.delete()


def test_a_deleted_session_gives_its_installation_up(
    index: Index, serve_index: Callable[..., Server]
) -> None:
    server = serve_index(index.url)
    sessions = [server.create(imports=["dataclass"]) for _ in range(3)]
    before = server.info()["sessions"]
    index.stalls.set()
    tasks = [
        session.background(f"%pip install vi-one=={number}", timeout_s=60)
        for number, session in enumerate(sessions)
    ]
    assert within(lambda: index.asked), "the installer does not begin"

    assert [session.delete().status for session in sessions] == [204] * 3

    assert within(lambda: server.info()["sessions"] == before - 3), "an installer goes on"
    assert all(task.result() for task in tasks)
    index.stalls.clear()
    assert value(run(server, "import vi_two; 1", packages=["vi-two"])) == "1"


def test_each_package_may_lie_on_a_host_of_its_own(
    index: Index, serve_index: Callable[..., Server], tmp_path: Path
) -> None:
    made = wheel(tmp_path, "vi_far")
    far = Index({made.name: made.read_bytes()})
    try:
        link = f"{far.url.removesuffix('/simple')}/files/{made.name}"
        link += f"#sha256={hashlib.sha256(made.read_bytes()).hexdigest()}"
        index.pages["vi-far"] = f"<a data-x='1' href='{link}'>{made.name}</a>\n"
        server = serve_index(index.url)

        assert value(run(server, "import vi_one; 1", packages=["vi-one"])) == "1"
        assert value(run(server, "import vi_far; 1", packages=["vi-far"])) == "1"
        assert value(run(server, "import vi_two; 1", packages=["vi-two"])) == "1"
    finally:
        far.close()


def test_an_index_on_the_hosts_loopback(index: Index, shop: Shop, tmp_path: Path) -> None:
    made = wheel(tmp_path, "vi_near")
    near = Index({made.name: made.read_bytes()}, host="127.0.0.1")
    server = shop.serve(options=("--egress-index", "127.0.0.1"), index_url=near.url, find_links=0)
    try:
        assert value(run(server, "import vi_near; 1", packages=["vi-near"])) == "1"
    finally:
        server.end()
        near.close()
