# SPDX-License-Identifier: Apache-2.0
"""The files API against a home that its session turned hostile."""

from __future__ import annotations

import io
import tarfile
import time
from urllib.parse import quote

import pytest
from escape_server import EscapeServer, note
from served import Background, Session

PASSWD = b"root:"


def prepare(session: Session, code: str) -> None:
    ran = session.run("import os, socket\n" + code + "\nNone")
    assert ran["outcome"] == "ok", ran


LINKS = {
    "absolute": "os.symlink('/etc/passwd', 'x')",
    "climbing": "os.symlink('../../etc/passwd', 'x')",
    "proc": "os.symlink('/proc/self/root/etc/passwd', 'x')",
    "magic": "os.symlink('/proc/self/exe', 'x')",
    "chain": "os.symlink('y', 'x'); os.symlink('/etc/passwd', 'y')",
    "loop": "os.symlink('x', 'x')",
    "directory": "os.symlink('/etc', 'd'); os.symlink('d/passwd', 'x')",
    "scratch": "open('/tmp/t', 'w').write('root:'); os.symlink('/tmp/t', 'x')",
}


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_is_not_followed_outside(escape_server: EscapeServer, kind: str) -> None:
    with escape_server.session() as session:
        prepare(session, LINKS[kind])
        answer = session.file("x")
        tar = session.call("GET", "/files?archive=tar")
        put = session.put("x", b"mine")
        after = session.run("import os\nopen('/etc/passwd').read(5)")
    note("F10", "plants links for a download", "4xx", answer.status, escape_server.mode)
    assert answer.status in (400, 404), answer
    assert PASSWD not in answer.body and PASSWD not in tar.body and tar.status == 200
    assert put.status == 201  # replaces the link itself
    assert after["results"][0]["text/plain"] == "'root:'"


SPECIAL = {
    "fifo": "os.mkfifo('x')",
    "socket": "s = socket.socket(socket.AF_UNIX); s.bind('x')",
    "zero": "os.symlink('/dev/zero', 'x')",
    "directory": "os.mkdir('x')",
    "shut": "open('x', 'w'); os.chmod('x', 0)",
    "leased": "import fcntl; f = open('x', 'w'); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)",
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_file_is_refused_at_once(escape_server: EscapeServer, kind: str) -> None:
    with escape_server.session() as session:
        prepare(session, SPECIAL[kind])
        started = time.monotonic()
        answer = session.file("x")
        took = time.monotonic() - started
        assert session.call("GET", "/files?archive=tar").status == 200
        assert session.names() == ["x"]
    note("F11", "downloads a FIFO, a socket, a device", "4xx", answer.status, escape_server.mode)
    assert 400 <= answer.status < 500, answer
    assert took < 1


NAMES = [
    "../x",
    "a/../../x",
    "/etc/x",
    "a/./../b",
    "a\0b",
    "x" * 5000,
    "a//b",
    "..",
    ".",
    "n" * 256,
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: repr(name[:12]))
def test_a_name_that_climbs_is_refused(escape_server: EscapeServer, name: str) -> None:
    with escape_server.session() as session:
        seen = [
            session.call("PUT", "/files/" + quote(name, safe=""), b"x").status,
            session.call("GET", "/files/" + quote(name, safe="")).status,
            session.call("DELETE", "/files/" + quote(name, safe="")).status,
        ]
        listing = session.call("GET", "/files?path=" + quote(name, safe=""))
        assert session.names() == []
    note(
        "F12",
        "uploads under names that climb",
        "400",
        [s for s in seen if s != 400],
        escape_server.mode,
    )
    assert set(seen) <= {400, 404, 422, 431}, seen
    # "." is the home itself; what is no name counts as none.
    assert listing.status in (400, 404, 431) or listing.json["files"] == [], listing


def test_a_directory_that_becomes_a_link_does_not_lead_outside(escape_server: EscapeServer) -> None:
    """[F13] The home's directory is swapped for links to /etc and /tmp while files are moved."""
    code = """
import ctypes, os, time
end = time.time() + 2
os.mkdir('real'); os.mkdir('/tmp/out')
for name in ('passwd', 'f'): open('real/' + name, 'w').write('mine')
open('/tmp/out/passwd', 'w').write('root:')
os.symlink('/etc', 'etc'); os.symlink('/tmp/out', 'out'); os.rename('real', 'd')
libc = ctypes.CDLL(None)
while time.time() < end:
    for other in (b'etc', b'out'):  # RENAME_EXCHANGE, there and back
        for _ in range(2): assert libc.syscall(316, -100, b'd', -100, other, 2) == 0
"""
    with escape_server.session() as session:
        task = session.settled(code)
        seen, bodies = set(), set()
        while not task.is_over():
            for answer in (session.file("d/passwd"), session.put("d/new", b"x" * 10)):
                seen.add(answer.status)
            for below in ("/files?path=d", "/files?path=d&archive=tar"):
                bodies.add(PASSWD in session.call("GET", below).body)
            bodies.add(PASSWD in session.file("d/passwd").body)
            session.call("DELETE", "/files/d/new")
        assert task.result().json["outcome"] == "ok", task.result()
        outside = session.run("sorted(os.listdir('/tmp/out'))")["results"][0]["text/plain"]
    note(
        "F13",
        "swaps a directory for a link meanwhile",
        "own files",
        sorted(seen),
        escape_server.mode,
    )
    assert seen <= {200, 201, 400, 404, 409}, seen
    assert bodies == {False}
    assert outside == "['passwd']"


def test_a_sparse_file_costs_the_server_nothing(escape_server: EscapeServer) -> None:
    with escape_server.session() as session:
        prepare(session, "open('x', 'w').truncate(200 << 20)")
        before = escape_server.server.resident_kb()
        connection = escape_server.server.connection()
        connection.request("GET", f"{session.path}/files/x")
        response = connection.getresponse()
        response.read(10 << 20)
        grown = escape_server.server.resident_kb() - before
        connection.close()
        too_big = session.run(
            "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "try: open('y', 'w').truncate(1 << 40)\nexcept OSError as e: print(e.errno)"
        )
    note(
        "F15",
        "downloads a sparse file",
        "flat",
        "flat" if grown < 32768 else grown,
        escape_server.mode,
    )
    assert grown < 32 * 1024
    assert too_big["stdout"].strip() == "27"  # EFBIG


CHANGES = {
    "deleted": "os.remove('x')",
    "shortened": "open('x', 'w').close()",
    "lengthened": "open('x', 'ab').write(bytes(30 << 20))",
    "replaced": "os.remove('x'); os.symlink('/etc/passwd', 'x')",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_while_it_is_sent(escape_server: EscapeServer, change: str) -> None:
    size = 30 << 20
    with escape_server.session() as session:
        prepare(session, f"open('x', 'wb').write(b'a' * {size})")
        connection = escape_server.server.connection()
        connection.request("GET", f"{session.path}/files/x")
        response = connection.getresponse()
        first = response.read(1 << 16)
        prepare(session, CHANGES[change])
        rest = response.read()
        connection.close()
    note(
        "F39",
        f"a file is {change} while it is sent",
        "its length",
        "its length",
        escape_server.mode,
    )
    assert len(first) + len(rest) == size and PASSWD not in rest


def test_hostile_names_in_an_archive(escape_server: EscapeServer) -> None:
    names = ["-rf", "a\nb", "ü", "$(id)", "'; --", "\x1b[31m", "..a", "x" * 255, "\udcff", " "]
    with escape_server.session() as session:
        prepare(session, f"for n in {names!r}: open(n, 'w').write('x')\nos.makedirs('d/' * 60)")
        answer = session.call("GET", "/files?archive=tar")
        listing = session.call("GET", "/files")
        assert listing.status == 200 and listing.json["files"]
    assert answer.status == 200
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as archive:
        members = archive.getmembers()
    note("F17", "packs hostile names", "plain members", "plain members", escape_server.mode)
    for one in members:
        assert one.isfile() or one.isdir()
        assert not one.name.startswith("/") and ".." not in one.name.split("/")


def test_hard_links_and_the_image(escape_server: EscapeServer) -> None:
    code = """
import errno
seen = []
for source in ('/etc/passwd', '/usr/bin/python3', '/proc/self/status', '/dev/null', '/proc/self/exe'):
    try: os.link(source, 'x'); seen.append('linked')
    except OSError as error: seen.append(errno.errorcode[error.errno])
print(*seen)
"""
    with escape_server.session() as session:
        ran = session.run("import os" + code)
    assert ran["outcome"] == "ok", ran
    seen = set(ran["stdout"].split())
    note(
        "F40",
        "links files of the image into its home",
        "EXDEV EPERM EACCES",
        sorted(seen),
        escape_server.mode,
    )
    assert seen and seen <= {"EXDEV", "EPERM", "EACCES"}


def slowest_beat(escape_server: EscapeServer, task: Background) -> float:
    slowest = 0.0
    while not task.is_over():
        started = time.monotonic()
        escape_server.is_neighbour_well()
        slowest = max(slowest, time.monotonic() - started)
    return slowest


@pytest.mark.serial
def test_a_directory_of_all_inodes_does_not_hold_up_others(escape_server: EscapeServer) -> None:
    """[F41] Listed, packed and deleted while the neighbour works."""
    with escape_server.session() as session:
        prepare(
            session,
            "os.mkdir('d')\ntry:\n    for n in range(1_000_000): os.close(os.open(f'd/{n}', os.O_CREAT))\n"
            "except OSError: pass",
        )
        beats = []
        for act in (
            lambda: session.call("GET", "/files?path=d"),
            lambda: session.call("DELETE", "/files/d"),
        ):
            task = Background(act)
            beats.append(slowest_beat(escape_server, task))
            assert task.result().status in (200, 204, 507), task.result()
    note(
        "F41",
        "a directory with every inode there is",
        "others served",
        f"{max(beats):.1f} s",
        escape_server.mode,
    )
    assert max(beats) < 2.0


@pytest.mark.serial
def test_a_directory_that_is_filled_while_it_is_deleted(escape_server: EscapeServer) -> None:
    """[F42] The keeper must not chase new entries for ever."""
    code = """
import os, time
os.makedirs('d', exist_ok=True)
for _ in range(2):
    if os.fork() == 0:
        end = time.time() + 4
        n = 0
        while time.time() < end:
            n += 1
            try:
                os.makedirs('d', exist_ok=True)
                os.close(os.open(f'd/{os.getpid()}-{n}', os.O_CREAT))
            except OSError: pass
        os._exit(0)
"""
    with escape_server.session() as session:
        prepare(session, code)
        slowest = 0.0
        for below in ("/files/d", "/files/d", "/files/d"):
            task = Background(lambda below=below: session.call("DELETE", below))
            slowest = max(slowest, slowest_beat(escape_server, task))
            assert task.result().status in (204, 404, 409, 500, 507), task.result()
    note(
        "F42",
        "fills a directory while it is deleted",
        "others served",
        f"{slowest:.1f} s",
        escape_server.mode,
    )
    assert slowest < 2.0


def test_after_all_the_server_is_as_before(escape_server: EscapeServer) -> None:
    escape_server.is_as_before()
