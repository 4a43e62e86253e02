# SPDX-License-Identifier: Apache-2.0
"""Source distributions: built when asked for, in a jail, and never by surprise."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from served import Server, until, within
from shop import Shop
from test_packages import layers, run, value
from wheels import sdist

MARK = "981237645"  # seconds that nobody else sleeps

# Tries to get out, and tells what it could do in the module that it makes.
HOSTILE = """
import os, socket, subprocess, urllib.request
found = {{}}
def attempt(what, how):
    try:
        found[what] = repr(how())
    except BaseException as error:
        found[what] = "refused: " + type(error).__name__
def connect(port):
    with socket.create_connection(("127.0.0.1", port), timeout=2) as line:
        return line.recv(16)
attempt("host file", lambda: open({secret!r}).read())
attempt("shadow", lambda: open("/etc/shadow").read())
attempt("environment", lambda: open("/proc/1/environ").read())
attempt("loopback", lambda: connect({port}))
attempt("proxy", lambda: urllib.request.urlopen("http://127.0.0.1:{port}/", timeout=3).read())
attempt("mount", lambda: subprocess.check_output(["mount", "-t", "tmpfs", "x", "/mnt"]))
attempt("image", lambda: open("/usr/lib/python3/vs_was_here", "w"))
for _ in range(3):
    subprocess.Popen(["sleep", "{mark}"], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)
return {{"vs_hostile.py": f"found = {{found!r}}\\n"}}
"""


def refused(server: Server, name: str, status: int, code: str, **fields: object) -> dict[str, str]:
    body = {"code": "1", "packages": [name], **fields}
    return dict(server.post("/v1/run", body).is_problem(status, code).json)


def test_one_that_must_be_built_is_refused_with_the_way_out(shop: Shop, server: Server) -> None:
    sdist(shop.wheels, "vs_plain")

    problem = refused(server, "vs-plain", 422, "only_sdist")

    assert "vs-plain has only a source distribution" in problem["detail"]
    assert "allow_sdist" in problem["remedy"]
    built = run(server, "import vs_plain; vs_plain.version", packages=["vs-plain"],
                allow_sdist=True)  # fmt: skip
    assert value(built) == "'1.0'"


def test_what_was_built_is_kept_apart_from_what_was_not(server: Server) -> None:
    before = layers(server)["installations"]
    run(server, "import vt_plain", packages=["vt-plain==1.0"])
    run(server, "import vt_plain", packages=["vt-plain==1.0"], allow_sdist=True)
    run(server, "import vt_plain", packages=["vt-plain==1.0"], allow_sdist=True)

    same = [one for one in layers(server)["layers"] if one["packages"] == ["vt-plain==1.0"]]

    assert len(same) == 2
    assert layers(server)["installations"] - before <= 2


def test_a_build_meets_the_walls_that_sessions_have(
    shop: Shop, serve: Callable[..., Server], tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    secret.chmod(0o644)
    for parent in [tmp_path, *tmp_path.parents][:3]:
        parent.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as host:
        port = host.getsockname()[1]
        sdist(shop.wheels, "vs_hostile", HOSTILE.format(secret=str(secret), port=port, mark=MARK))
        server = serve()
        sessions = server.info()["sessions"]

        code = "import vs_hostile; vs_hostile.found"
        found = value(run(server, code, packages=["vs-hostile"], allow_sdist=True))

        host.setblocking(False)
        with pytest.raises(BlockingIOError):
            host.accept()
    assert found.count("refused: ") == 7, found
    assert within(lambda: not sleepers()), "a process of the build lives on"
    assert until(lambda: server.info()["sessions"] == sessions)


def sleepers() -> list[str]:
    found = []
    for entry in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{entry}/cmdline").read_bytes() if entry.isdigit() else b""
        except OSError:
            continue
        if words == f"sleep\0{MARK}\0".encode():
            found.append(entry)
    return found


@pytest.mark.parametrize(
    ("name", "work", "status", "code"),
    [
        ("vs_broken", "raise SystemError('it does not build')", 422, "build_failed"),
        ("vs_compiled", "import subprocess; subprocess.check_call(['gcc', 'x.c'])", 422,
         "needs_compiler"),
        ("vs_endless", "import time; time.sleep(600)", 504, "install_timeout"),
        ("vs_disk", "open('big', 'wb').write(bytes(200 << 20))", 422, "too_big"),
    ],
)  # fmt: skip
def test_a_build_that_fails_says_why(
    shop: Shop, serve: Callable[..., Server], name: str, work: str, status: int, code: str
) -> None:
    sdist(shop.wheels, name, work)
    server = serve(layer_bytes=40 << 20, time_s=8)

    problem = refused(server, name.replace("_", "-"), status, code, allow_sdist=True)

    if code != "install_timeout":
        assert name.replace("_", "-") in problem["detail"] or code == "too_big", problem
    assert layers(server)["layers"] == []
    assert run(server, "6 * 7")["outcome"] == "ok"


def test_an_operator_may_forbid_it(serve: Callable[..., Server]) -> None:
    server = serve(sdist=0)

    problem = refused(server, "vt-plain", 403, "sdist_off", allow_sdist=True)

    assert "allow_sdist" in problem["remedy"]
    assert run(server, "import vt_plain; 1", packages=["vt-plain"])["outcome"] == "ok"


def test_the_code_of_a_session_may_build_only_if_its_client_said_so(
    shop: Shop, server: Server
) -> None:
    sdist(shop.wheels, "vs_later")
    careful, free = server.create(), server.create(allow_sdist=True)
    code = "%pip install vs-later\nimport vs_later\nvs_later.version"

    assert careful.run(code, timeout_s=60)["error"]["name"] == "PackageError"
    assert value(free.run(code, timeout_s=60)) == "'1.0'"
    more = free.run("%pip install vt-plain\nimport vt_plain, vs_later; 1", timeout_s=60)
    assert value(more) == "1"

    for session in (careful, free):
        session.delete()
