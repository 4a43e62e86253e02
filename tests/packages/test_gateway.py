# SPDX-License-Identifier: Apache-2.0
"""The process that has the credentials of an index: nobody reads them from outside, an installation
survives its death, and it does not survive those it serves."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from process_table import family, processes
from served import Background, Server, until
from test_credentials import BASIC, index_with_password, with_secret
from test_hostile_index import SECRET, Index
from test_packages import run, value


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with index_with_password(tmp_path) as one:
        yield one


@pytest.fixture
def server(index: Index, serve: Callable[..., Server]) -> Server:
    return serve(index_url=with_secret(index.url), find_links=0)


def gateways(server: Server) -> set[tuple[int, int]]:
    """(pid, time of birth) of those of the server's keeper."""
    found = set()
    for pid, born in family(server.process.pid):
        try:
            if Path(f"/proc/{pid}/comm").read_text() == "vitrine-gateway\n":
                found.add((pid, born))
        except OSError:
            continue
    return found


def holds_files(index: Index) -> None:
    """Pages are answered, files are not until `index.over` is set."""
    index.released = {"/simple/"}
    index.stalls.set()


def is_asked_for_a_file(index: Index) -> bool:
    return any(path.startswith("/files/") for path in list(index.asked))


def test_it_is_sealed_and_shows_no_credentials(index: Index, server: Server) -> None:
    assert gateways(server) == set(), "nothing needs it before an installation"

    assert value(run(server, "import vi_one; 1", packages=["vi-one"])) == "1"

    [(pid, _)] = gateways(server)
    status = Path(f"/proc/{pid}/status").read_text()
    assert "Seccomp:\t2\n" in status and "NoNewPrivs:\t1\n" in status, status
    assert "CapEff:\t0000000000000000\n" in status, status
    users = [line.split()[1:] for line in status.splitlines() if line[:4] in ("Uid:", "Gid:")]
    if os.geteuid() == 0:
        others = (p for p, _ in processes() if p != pid)
        ids = {os.stat(f"/proc/{p}").st_uid for p in others if Path(f"/proc/{p}").exists()}
        assert len({user for four in users for user in four}) == 1, status
        assert int(users[0][0]) > 65536 and int(users[0][0]) not in ids, "an id of its own"
    seen = {name: Path(f"/proc/{pid}/{name}").read_bytes() for name in ("environ", "cmdline")}
    assert seen == {"environ": b"LANG=C.UTF-8\0", "cmdline": b"vitrine-gateway\0"}
    front = server.info()["processes"]["front"]
    for one in (pid, front, server.process.pid):
        for name in ("environ", "cmdline"):
            data = Path(f"/proc/{one}/{name}").read_bytes()
            assert SECRET.encode() not in data and BASIC.encode() not in data, (one, name)
    assert "libssl" in Path(f"/proc/{pid}/maps").read_text()
    assert "libssl" not in Path(f"/proc/{front}/maps").read_text()
    open_files = {os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()}
    named = {path for path in open_files if path.startswith("/") and "/dev/null" not in path}
    assert named == {str(server.log)}, "its standard error, and no other file"


def test_an_installation_goes_on_when_it_is_killed(index: Index, server: Server) -> None:
    holds_files(index)
    task = Background(lambda: run(server, "import vi_one; 1", packages=["vi-one"]))
    until(lambda: is_asked_for_a_file(index))
    before = gateways(server)
    [(pid, _)] = before
    index.asked.clear()

    os.kill(pid, signal.SIGKILL)
    until(lambda: gateways(server) - before)
    index.over.set()

    assert value(task.result()) == "1"
    assert is_asked_for_a_file(index), "through the next one"
    assert set(index.sent) == {f"Basic {BASIC}"}
    assert len(gateways(server)) == 1
    assert "the index gateway was ended by signal 9" in server.read_log()
    assert server.stop() == (0, [])


def test_it_ends_with_the_front_and_the_next_front_has_its_own(
    index: Index, server: Server
) -> None:
    run(server, "1", packages=["vi-one"])
    before = gateways(server)
    assert len(before) == 1

    server.kill_front()
    until(lambda: not before & processes().keys())

    assert gateways(server) == set()
    assert value(run(server, "import vi_two; 1", packages=["vi-two"])) == "1"
    assert len(gateways(server)) == 1


def test_a_stopped_one_ends_with_the_front_as_well(index: Index, server: Server) -> None:
    run(server, "1", packages=["vi-one"])
    before = gateways(server)
    [(pid, _)] = before

    os.kill(pid, signal.SIGSTOP)  # it does not see that its socket is closed
    server.kill_front()

    until(lambda: not before & processes().keys())


def test_nothing_of_it_is_left_when_the_keeper_is_killed(index: Index, server: Server) -> None:
    holds_files(index)
    task = Background(lambda: server.post("/v1/run", {"code": "1", "packages": ["vi-one"]}))
    until(lambda: is_asked_for_a_file(index))
    before = gateways(server)
    assert len(before) == 1

    server.process.kill()
    server.process.wait(60)

    until(lambda: not before & processes().keys())
    index.over.set()
    task.settle()
