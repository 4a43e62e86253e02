# SPDX-License-Identifier: Apache-2.0
"""An index that wants a password: the front has it, and nothing that installs or runs code does."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from served import BUILD, IMAGE, Server
from shop import Shop
from test_hostile_index import HOST, SECRET, Index
from test_packages import layers, run, value
from wheels import sdist, wheel

BASIC = base64.b64encode(f"user:{SECRET}".encode()).decode()

# Looks for the password everywhere, and tries what the installer's ticket is good for. It must not
# hold what it looks for.
HUNTER = """
import os, re, urllib.request
words = [word[::-1].encode() for word in {backwards!r}]
found, looked = [], 0
def look(where, data):
    nonlocal looked
    looked += 1
    if any(word in data for word in words):
        found.append(where)
def read(path):
    try:
        with open(path, "rb") as file:
            return file.read(1 << 24)
    except OSError:
        return b""
lines = b""
for pid in filter(str.isdigit, os.listdir("/proc")):
    lines += read(f"/proc/{{pid}}/cmdline")
    look("cmdline", lines)
    look("environ", read(f"/proc/{{pid}}/environ"))
for top in ("/home", "/tmp", "/run", "/etc", "/dev/shm", "/usr/local/lib/vitrine-packages"):
    for folder, _, files in os.walk(top):
        for file in files:
            look(file, read(os.path.join(folder, file)))
for path in ("/proc/self/mountinfo", "/proc/self/maps", "/proc/net/tcp"):
    look(path, read(path))
ticket = re.search(rb"http://vitrine:([0-9a-f]+)@(127[.]0[.]0[.]1:[0-9]+)", lines)
said = {{}}
def ask(what, method, key):
    import base64, urllib.error
    page = f"http://{{ticket[2].decode()}}/simple/vc-hunter/"
    request = urllib.request.Request(page, method=method)
    if key:
        word = base64.b64encode(b"vitrine:" + ticket[1]).decode()
        request.add_header("Authorization", f"Basic {{word}}")
    try:
        os.environ.pop("no_proxy", None), os.environ.pop("NO_PROXY", None)
        answer = urllib.request.urlopen(request, timeout=10)
        said[what] = answer.status
        look(what, str(answer.headers).encode() + answer.read())
    except urllib.error.HTTPError as error:
        said[what] = error.code
        look(what, str(error.headers).encode() + error.read())
ask("page", "GET", True)
ask("upload", "POST", True)
ask("no ticket", "GET", False)
return {{"vc_hunter.py": f"found = {{found!r}}\\nlooked = {{looked}}\\nsaid = {{said!r}}\\n"}}
"""


@contextlib.contextmanager
def index_with_password(place: Path) -> Iterator[Index]:
    made = [wheel(place, "vi_one"), wheel(place, "vi_two")]
    one = Index({path.name: path.read_bytes() for path in made})
    one.password = SECRET
    yield one
    one.close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with index_with_password(tmp_path) as one:
        yield one


@pytest.fixture
def serve_index(serve: Callable[..., Server]) -> Callable[..., Server]:
    def one(url: str, **settings: object) -> Server:
        return serve(index_url=with_secret(url), find_links=0, **settings)

    return one


def with_secret(url: str) -> str:
    return url.replace("://", f"://user:{SECRET}@")


def test_no_byte_of_it_is_where_code_can_read(
    index: Index, serve_index: Callable[..., Server], tmp_path: Path
) -> None:
    backwards = [SECRET[::-1], BASIC.rstrip("=")[::-1]]
    made = sdist(tmp_path, "vc_hunter", HUNTER.format(backwards=backwards))
    index.files[made.name] = made.read_bytes()
    server = serve_index(index.url)

    code = "import vc_hunter as it; [it.found, it.looked > 50, it.said]"
    said = value(run(server, code, packages=["vc-hunter"], allow_sdist=True))

    assert said == "[[], True, {'page': 200, 'upload': 405, 'no ticket': 401}]"
    assert set(index.sent) == {f"Basic {BASIC}"}, "the index is asked with its own credentials"
    assert SECRET not in server.read_log()
    files = [path for path in (server.data / "layers").rglob("*") if path.is_file()]
    assert files and not any(SECRET.encode() in path.read_bytes() for path in files)


def test_errors_name_the_index_and_not_how_it_is_reached(
    index: Index, serve_index: Callable[..., Server]
) -> None:
    server = serve_index(index.url)

    missing = server.post("/v1/run", {"code": "1", "packages": ["vi-none"]})
    index.password = "another one"
    locked = server.post("/v1/run", {"code": "1", "packages": ["vi-two"]})

    missing.is_problem(422, "package_not_found")
    locked.is_problem(503, "offline")
    for answer in (missing, locked):
        for word in (SECRET, BASIC, "vitrine:", "127.0.0.1"):
            assert word not in answer.body.decode(), answer


def test_answers_before_the_last_are_passed_over_and_not_without_end(
    index: Index, serve_index: Callable[..., Server]
) -> None:
    server = serve_index(index.url)
    hint = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
    index.before = b"HTTP/1.1 100 Continue\r\n\r\n" + hint

    assert value(run(server, "import vi_one; 1", packages=["vi-one"])) == "1"

    index.before = hint * 20
    server.post("/v1/run", {"code": "1", "packages": ["vi-two"]}).is_problem((422, 502, 503))


def test_a_file_elsewhere_is_fetched_without_them(index: Index, shop: Shop, tmp_path: Path) -> None:
    made = wheel(tmp_path, "vi_far")
    far = Index({made.name: made.read_bytes()})
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    index.pages["vi-far"] = f'<a href="/files/{made.name}#sha256={digest}">{made.name}</a>\n'
    index.moved[f"/files/{made.name}"] = f"{far.url.removesuffix('/simple')}/files/{made.name}"
    other = far.url.removeprefix("http://").removesuffix("/simple")
    server = shop.serve(options=("--egress-allow-private", f"{HOST}/32"), find_links=0,
                        index_url=with_secret(index.url), index_hosts=[other])  # fmt: skip
    try:
        assert value(run(server, "import vi_far; 1", packages=["vi-far"])) == "1"
        assert far.asked and set(far.sent) == {None}
    finally:
        server.end()
        far.close()


def certificate(place: Path) -> tuple[ssl.SSLContext, str]:
    key, pem = place / "key.pem", place / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=index", "-addext", f"subjectAltName=IP:{HOST}", "-keyout", str(key), "-out",
         str(pem)], check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    return context, pem.read_text()


def test_over_tls_the_certificate_is_checked(
    serve_index: Callable[..., Server], tmp_path: Path
) -> None:
    context, pem = certificate(tmp_path)
    made = wheel(tmp_path, "vi_safe")
    index = Index({made.name: made.read_bytes()}, tls=context)
    index.password = SECRET
    # A page that names its own host in full leads through the gateway as well.
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    link = f"{index.url.removesuffix('/simple')}/files/{made.name}#sha256={digest}"
    index.pages["vi-safe"] = f'<a href="{link}">{made.name}</a>\n'
    try:
        careful = serve_index(index.url)
        trusting = serve_index(index.url, certificates=pem)

        refused = careful.post("/v1/run", {"code": "1", "packages": ["vi-safe"]})

        refused.is_problem((422, 503))
        assert index.asked == [], "nothing is told to a host that cannot prove who it is"
        assert value(run(trusting, "import vi_safe; 1", packages=["vi-safe"])) == "1"
        assert set(index.sent) == {f"Basic {BASIC}"}
    finally:
        index.close()


def test_a_file_of_credentials_is_enough(index: Index) -> None:
    place = Path(tempfile.mkdtemp(prefix="vitrine-credentials-"))
    place.chmod(0o755)
    secrets = place / "netrc"
    secrets.write_text(f"# of the tests\nmachine {HOST} login user password {SECRET}\n")
    serve = [str(BUILD / "bin" / "vitrine"), "serve", "--data", str(place / "data"),
             "--image", str(IMAGE), "--listen", "127.0.0.1:0", "--index-url", index.url,
             "--index-credentials", str(secrets)]  # fmt: skip
    environment = {**os.environ, "PIP_EXTRA_INDEX_URL": with_secret("https://index.invalid/simple")}
    secrets.chmod(0o644)
    shown = subprocess.run(serve, capture_output=True, text=True, timeout=30, check=False)
    assert shown.returncode == 2 and "chmod 600" in shown.stderr, shown
    secrets.chmod(0o600)
    process = subprocess.Popen(
        serve, stdout=subprocess.PIPE, stderr=open(place / "log", "wb"), env=environment
    )
    server = object.__new__(Server)
    server.process, server.owns_directory, server.directory = process, True, place
    server.log, server.data = place / "log", place / "data"
    try:
        assert process.stdout is not None
        ready = process.stdout.readline().decode()
        assert ready.startswith("vitrine: ready"), (ready, server.read_log())
        server.port = int(ready.rsplit(":", 1)[1])

        assert value(run(server, "import vi_one; 1", packages=["vi-one"])) == "1"

        assert layers(server)["layers"][0]["packages"] == ["vi-one==1.0"]
        for pid in server.info()["processes"].values():
            for name in ("cmdline", "environ"):
                data = Path(f"/proc/{pid}/{name}").read_bytes()
                assert SECRET.encode() not in data, (pid, name)
        assert (server.data / "packages.json").stat().st_mode & 0o077 == 0
        assert SECRET not in server.read_log()
    finally:
        server.end()
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.parametrize(
    "hosts", ["https://files.example.org", "files.example.org/x", "a.org,b.org:x", "*"]
)
def test_hosts_of_an_index_are_checked_at_the_start(hosts: str, shop: Shop) -> None:
    serve = [str(BUILD / "bin" / "vitrine"), "serve", "--data", str(shop.directory / "checked"),
             "--image", str(IMAGE), "--listen", "127.0.0.1:0", "--index-hosts"]  # fmt: skip

    plain, secret = (
        subprocess.run([*serve, hosts], capture_output=True, text=True, timeout=30, check=False)
        for hosts in (hosts, f"user:{SECRET}@files.example.org")
    )

    for shown in (plain, secret):
        assert shown.returncode == 2, shown
        assert "index_hosts" in shown.stderr and "mirror.example.org:8443" in shown.stderr, shown
    assert SECRET not in secret.stderr
