# SPDX-License-Identifier: Apache-2.0
"""Files: up, down, ranges, listings, archives; alive, busy and dead; and names that climb."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from http_answer import parse_answer
from sanitizer_marks import judges_memory
from served import Server, Session, until

pytestmark = pytest.mark.needs("files")

HOST_SECRET = Path("/etc/passwd").read_bytes()


def test_what_goes_up_comes_down(session: Session) -> None:
    content = os.urandom(3 << 20)

    up = session.put("deep/er/data.bin", content)
    down = session.file("deep/er/data.bin")

    assert up.status == 201, up
    assert up.json == {"path": "deep/er/data.bin", "size": len(content)}
    assert down.status == 200
    assert down.body == content
    assert down.headers["Content-Type"] == "application/octet-stream"
    assert down.headers["X-Content-Type-Options"] == "nosniff"
    assert "attachment" in down.headers["Content-Disposition"]
    assert session.value("import os; os.path.getsize('deep/er/data.bin')") == str(len(content))


def test_code_owns_what_was_sent(session: Session) -> None:
    session.put("dir/in.txt", b"before")

    execution = session.run(
        "open('dir/in.txt', 'a').write(' after'); open('dir/new', 'w').close(); import os; os.remove('dir/new')"
    )

    assert execution["outcome"] == "ok", execution
    assert session.file("dir/in.txt").body == b"before after"


def test_an_upload_replaces(session: Session) -> None:
    session.put("a", b"long content")

    assert session.put("a", b"s").status == 201

    assert session.file("a").body == b"s"
    assert session.names() == ["a"]


def test_a_chunked_upload(server: Server, session: Session) -> None:
    head = f"PUT {session.path}/files/c HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n"
    body = b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"

    answer = parse_answer(server.raw(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + body))

    assert answer.status == 201
    assert session.file("c").body == b"hello world"


def test_an_empty_file(session: Session) -> None:
    assert session.put("empty", b"").status == 201

    answer = session.file("empty")
    assert (answer.status, answer.body, answer.headers["Content-Length"]) == (200, b"", "0")


@pytest.mark.parametrize(
    ("wish", "status", "content", "content_range"),
    [
        ("bytes=0-0", 206, b"0", "bytes 0-0/10"),
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-100", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=5-999", 206, b"56789", "bytes 5-9/10"),
        ("bytes=4-2", 200, b"0123456789", None),
        ("bytes=x-y", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("bytes=18446744073709551616-", 200, b"0123456789", None),
    ],
)
def test_ranges(
    session: Session, wish: str, status: int, content: bytes, content_range: str | None
) -> None:
    session.put("f", b"0123456789")

    answer = session.file("f", Range=wish)

    assert (answer.status, answer.body) == (status, content)
    assert answer.headers["Content-Range"] == content_range


@pytest.mark.parametrize("wish", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_a_range_beyond_the_end_is_416(session: Session, wish: str) -> None:
    session.put("f", b"0123456789")

    answer = session.file("f", Range=wish)

    assert answer.status == 416
    assert answer.headers["Content-Range"] == "bytes */10"
    answer.is_problem(416)


def test_head_tells_the_size_without_the_bytes(server: Server, session: Session) -> None:
    session.put("f", b"0123456789")
    connection = server.connection()

    head = session.call("HEAD", "/files/f", over=connection)
    then = session.call("GET", "/files/f", over=connection)
    connection.close()

    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", "10")
    assert then.body == b"0123456789"
    assert session.call("HEAD", "/files/none").status == 404


def test_a_listing(session: Session) -> None:
    session.put("d/b.txt", b"12345")
    session.put("d/a/x", b"")
    session.run("import os; os.symlink('b.txt', 'd/link'); os.mkfifo('d/pipe')")

    answer = session.call("GET", "/files?path=d")

    assert answer.json["path"] == "d"
    entries = {one["name"]: one for one in answer.json["files"]}
    assert {name: one["type"] for name, one in entries.items()} == {
        "a": "directory",
        "b.txt": "file",
        "link": "link",
        "pipe": "other",
    }
    assert entries["b.txt"]["size"] == 5
    assert entries["b.txt"]["modified_ms"] > 1_600_000_000_000
    assert session.names() == ["d"]
    session.call("GET", "/files?path=none").is_problem(404)
    session.call("GET", "/files?path=d/b.txt").is_problem((400, 404, 409))


def test_a_long_listing_is_whole(session: Session) -> None:
    session.run("for i in range(1500): open(f'{i:05}' + 'n' * 100, 'w').close()")

    assert session.names() == [f"{i:05}" + "n" * 100 for i in range(1500)]


@pytest.mark.parametrize(
    "name", ["a b", "ü日🎉", "quote\"'", "per%cent", "semi;colon", "new\nline", "a\\b"]
)
def test_strange_names_are_names(session: Session, name: str) -> None:
    assert session.put(name, b"x").status == 201

    answer = session.file(name)

    assert answer.body == b"x"
    assert session.names() == [name]
    assert "\n" not in answer.headers["Content-Disposition"]
    assert session.value("import os; os.listdir()[0]") == repr(name)


def test_delete(session: Session) -> None:
    session.put("d/e/f", b"x")
    session.put("g", b"x")

    for name in ("g", "d"):
        answer = session.call("DELETE", f"/files/{name}")
        assert (answer.status, answer.body) == (204, b"")
        session.file(name).is_problem(404)
        session.call("DELETE", f"/files/{name}").is_problem(404)
    assert session.names() == []


def test_a_directory_is_not_a_file(session: Session) -> None:
    session.put("d/f", b"x")

    session.file("d").is_problem(409)
    session.put("d", b"x").is_problem(409)
    session.put("d/f/g", b"x").is_problem((400, 404, 409))
    session.file("d/f/g").is_problem((400, 404, 409))


def unpack(content: bytes) -> dict[str, bytes | None]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {
            one.name: archive.extractfile(one).read() if one.isfile() else None  # type: ignore[union-attr]
            for one in archive
        }


def test_an_archive_of_a_directory(session: Session) -> None:
    long = "l" * 120 + "/" + "m" * 120 + "ü"
    content = os.urandom(200_001)
    session.put("d/a.bin", content)
    session.put("d/" + long, b"long")
    session.put("d/empty", b"")
    session.run(
        "import os; os.symlink('/etc/passwd', 'd/link'); os.mkfifo('d/fifo'); os.link('d/a.bin', 'd/hard')"
    )

    answer = session.call("GET", "/files?path=d&archive=tar")
    same = session.call("GET", "/files/d?archive=tar")
    home = session.call("GET", "/files?archive=tar")

    assert answer.status == 200, answer
    assert answer.headers["Content-Type"] == "application/x-tar"
    found = unpack(answer.body)
    assert found["a.bin"] == content
    assert found[long] == b"long"
    assert found["empty"] == b""
    assert "fifo" not in found and "link" not in found
    assert HOST_SECRET not in answer.body
    assert unpack(same.body) == found
    assert unpack(home.body)["d/a.bin"] == content
    session.call("GET", "/files?path=none&archive=tar").is_problem(404)


def test_files_while_code_runs(session: Session) -> None:
    code = "import os, time\nopen('out', 'w').write('partial')\nwhile not os.path.exists('go'): time.sleep(0.01)\nopen('go').read()"
    running = session.background(code)

    assert until(lambda: session.file("out").status == 200)
    assert session.file("out").body in (b"", b"partial")
    assert "out" in session.names()
    assert session.put("other/x", b"1").status == 201
    assert session.call("DELETE", "/files/other").status == 204
    session.put("go", b"signal")

    assert running.result().json["results"] == [{"text/plain": "'signal'"}], "whole when it appears"


def test_files_of_the_dead(create: Callable[..., Session]) -> None:
    session = create(limits={"memory_mb": 96})
    session.put("d/kept", b"x")
    assert session.run("x = b'x' * (4 << 30)")["outcome"] in ("oom", "exception")
    session.run("import os; os._exit(1)") if session.show()["state"] != "dead" else None

    assert session.show()["state"] == "dead"
    assert session.file("d/kept").body == b"x"
    assert session.file("d/kept", Range="bytes=0-0").status == 206
    assert unpack(session.call("GET", "/files?archive=tar").body)["d/kept"] == b"x"
    assert session.put("d/more", b"y").status == 201
    assert session.names("d") == ["kept", "more"]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "..",
        ".",
        "a/../../x",
        "a/./b",
        "%2e%2e/x",
        "..%2fx",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "a//b",
        "a%00b",
        "%00",
        "a%0",
        "a%zz",
        "a%",
        "x" * 256,
        "x/" * 2500 + "x",
        "a/",
    ],
)
def test_names_that_climb_or_make_no_sense_are_400(
    session: Session, method: str, path: str
) -> None:
    answer = session.call(method, "/files/" + path, b"x" if method == "PUT" else None)

    answer.is_problem(400)
    assert HOST_SECRET not in answer.body


@pytest.mark.parametrize("path", ["..", "../..", "/etc", "a/../..", "%00", "%zz", "x" * 5000])
@pytest.mark.parametrize("archive", ["", "&archive=tar"])
def test_listings_that_climb_are_400(session: Session, path: str, archive: str) -> None:
    session.call("GET", f"/files?path={path}{archive}").is_problem(400)


@pytest.mark.parametrize(
    "target",
    [
        "/etc/passwd",
        "../../../../etc/passwd",
        "/proc/self/environ",
        "/proc/1/root/etc/passwd",
        "/dev/zero",
        "loop",
    ],
)
def test_links_lead_nowhere_outside(session: Session, target: str) -> None:
    session.run(f"import os; os.symlink({target!r}, 'loop')")

    down = session.file("loop").is_problem((400, 403, 404, 409))
    assert HOST_SECRET[:20] not in down.body
    up = session.put("loop", b"mine")

    assert up.status == 201 or up.is_problem((400, 403, 404, 409))
    if up.status == 201:  # the link was replaced, not followed
        assert session.value("import os; os.path.islink('loop')") == "False"
    assert Path("/etc/passwd").read_bytes() == HOST_SECRET


def test_linked_directories_lead_nowhere_outside(session: Session) -> None:
    session.run(
        "import os; os.symlink('/etc', 'etc'); os.symlink('/', 'root'); os.symlink('..', 'up')"
    )

    for below in ("etc/passwd", "root/etc/passwd", "up/etc/passwd"):
        for method in ("GET", "PUT", "DELETE"):
            answer = session.call(method, "/files/" + below, b"x" if method == "PUT" else None)
            answer.is_problem((400, 403, 404, 409))
            assert HOST_SECRET not in answer.body
    for directory in ("etc", "root", "up", "root/etc"):
        session.call("GET", f"/files?path={directory}").is_problem((400, 403, 404, 409))
        session.call("GET", f"/files?path={directory}&archive=tar").is_problem((400, 403, 404, 409))
    assert session.call("DELETE", "/files/etc").status == 204, "the link, not what it names"
    assert Path("/etc/passwd").read_bytes() == HOST_SECRET


def test_no_pipe_socket_or_device_blocks_the_server(server: Server, session: Session) -> None:
    session.run(
        "import os, socket; os.mkfifo('fifo'); s = socket.socket(socket.AF_UNIX); s.bind('sock')"
    )

    for name in ("fifo", "sock"):
        session.file(name).is_problem((400, 403, 404, 409))
        session.call("HEAD", f"/files/{name}")
    assert server.get("/health").status == 200


def test_an_unreadable_file_is_refused_not_leaked(session: Session) -> None:
    session.run("open('s', 'w').write('x'); import os; os.chmod('s', 0)")

    answer = session.file("s")

    assert answer.status == 200 or answer.is_problem((403, 404, 409))


@judges_memory
def test_a_sparse_terabyte_costs_nothing(server: Server, session: Session) -> None:
    made = session.run("f = open('big', 'wb'); f.truncate(1 << 40)")
    before = server.resident_kb()
    if made["outcome"] == "exception":  # the kernel caps files at what the session may have
        made = session.run("f.truncate(200 << 20)")
        assert made["outcome"] == "ok", made
    size = int(session.call("HEAD", "/files/big").headers["Content-Length"])
    assert size >= 200 << 20

    connection = server.connection()
    connection.request("GET", session.path + "/files/big")
    response = connection.getresponse()
    assert response.read(8 << 20) == bytes(8 << 20)
    connection.close()
    tail = session.file("big", Range=f"bytes={size - 5}-")

    assert tail.body == bytes(5)
    assert server.resident_kb() - before < 32 * 1024
    assert server.get("/health").status == 200


def test_a_file_that_changes_meanwhile_keeps_the_promised_length(
    server: Server, session: Session
) -> None:
    session.run("f = open('big', 'wb'); f.truncate(64 << 20)")
    connection = server.connection()
    connection.request("GET", session.path + "/files/big")
    response = connection.getresponse()
    response.read(1 << 20)

    session.run("f.truncate(0)")

    assert len(response.read()) == (63 << 20)
    connection.close()


def test_the_quota_is_the_session_s(create: Callable[..., Session]) -> None:
    session = create(limits={"disk_mb": 4})

    over = session.put("too-big", bytes(5 << 20))
    over.is_problem((413, 507))
    assert session.put("half", bytes(3 << 20)).status == 201
    full = session.put("half2", bytes(3 << 20))

    full.is_problem(507, "disk_full")
    assert session.names() == ["half"], "nothing half-written is left"
    assert session.call("DELETE", "/files/half").status == 204
    assert session.put("half2", bytes(3 << 20)).status == 201
    assert session.run("open('x', 'wb').write(bytes(3 << 20))")["error"]["name"] == "OSError"


def test_a_chunked_upload_over_the_quota(server: Server, create: Callable[..., Session]) -> None:
    session = create(limits={"disk_mb": 2})
    head = f"PUT {session.path}/files/c HTTP/1.1\r\nHost: {server.host}\r\n"
    chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"

    raw = server.raw(
        head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 5 + b"0\r\n\r\n"
    )

    parse_answer(raw).is_problem((413, 507))
    assert session.names() == []


def test_an_upload_that_breaks_off_leaves_nothing(server: Server, session: Session) -> None:
    head = f"PUT {session.path}/files/half HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 1000\r\n\r\n"
    with server.socket() as client:
        client.sendall(head.encode() + b"x" * 10)

    hidden = "import os; [n for n in os.listdir() if n.startswith('.')]"
    assert until(lambda: session.value(hidden) == "[]")
    assert session.names() == []
    session.file("half").is_problem(404)


def test_the_home_itself_cannot_be_had_or_removed(session: Session) -> None:
    session.put("a", b"x")

    for method in ("GET", "PUT", "DELETE"):
        session.call(method, "/files/").is_problem((400, 404, 405))
    session.call("DELETE", "/files").is_problem(405)
    assert session.names() == ["a"]
