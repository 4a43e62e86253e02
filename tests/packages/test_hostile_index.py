# SPDX-License-Identifier: Apache-2.0
"""An index that lies, stalls, or wants a password. It is on 127.0.0.2, through the proxy."""

from __future__ import annotations

import base64
import hashlib
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Shop
from served import Server
from test_packages import layers, run, value
from wheels import wheel

HOST = "127.0.0.2"  # not what NO_PROXY names
SECRET = "correct-horse-battery"


class Index:
    """A simple index. What it says of a file's hash is up to `hash_of`."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.hash_of: Callable[[bytes], str] = lambda data: hashlib.sha256(data).hexdigest()
        self.stalls = threading.Event()
        self.over = threading.Event()
        self.password: str | None = None
        self.asked: list[str] = []
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

        self.server = Quiet((HOST, 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://{HOST}:{self.server.server_port}/simple"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        self.asked.append(request.path)
        if self.stalls.is_set():
            self.over.wait(60)
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
            return self.send(request, 200 if mine else 404, links.encode(), "text/html")
        data = self.files.get(parts[-1])
        self.send(request, 200 if data else 404, data or b"", "application/zip")

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
def serve_index(shop: Shop) -> Iterator[Callable[..., Server]]:
    before = len(shop.servers)

    def serve(url: str, **settings: object) -> Server:
        options = ("--egress-allow-private", f"{HOST}/32")
        return shop.serve(options=options, index_url=url, find_links=0, **settings)

    yield serve
    for server in shop.servers[before:]:
        server.end()


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
    server.end()
