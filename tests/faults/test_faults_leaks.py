# SPDX-License-Identifier: Apache-2.0
"""Thousands of sessions come and go, and nothing of them stays.

Besides the count of everything before and after, the keeper's outer user namespace gets a limit of
namespaces far below the number of sessions: the kernel itself would refuse if one were left per
session, wherever it hides.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import client
import keepers
import pytest

CLIENTS = 8
KINDS = (
    ("bare", "session"),
    ("bare", "one_shot"),
    ("loaded", "session"),
    ("loaded", "one_shot"),
)
# A network namespace is taken down by the kernel some time after its last process.
NAMESPACES = {"net": 500, "mnt": 200, "pid": 200, "user": 200, "ipc": 400, "uts": 200}
SLOPE = 1.0  # KiB of the keeper's memory per session
OPTIONS = ("--pool", "2", "--shells", "2", "--recycled", "4", "--uses-per-shell", "50")


def use_sessions(keeper: keepers.Process, number: int, first: int) -> None:
    """One client: creates, uses and ends sessions of all kinds in turn."""
    with keeper.connect() as control:
        for i in range(first, first + number):
            with control.create(*KINDS[i % len(KINDS)]) as session:
                code = f"open('x', 'w').write('y' * 100); print({i}); {i} + 1"
                execution = session.run(code, timeout=None)
                assert execution.texts == [str(i + 1)], (execution.error, execution.death)
                assert execution.stdout == f"{i}\n".encode()
        assert control.events == []


def drive(keeper: keepers.Process, sessions: int) -> float:
    """Sessions per second, made by several clients at once."""
    start = time.monotonic()
    children = []
    for i in range(CLIENTS):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                use_sessions(keeper, sessions // CLIENTS, i)
                status = 0
            except BaseException as error:
                os.write(2, f"client {i}: {type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(status)
        children.append(pid)
    ends = [os.waitpid(pid, 0)[1] for pid in children]
    assert ends == [0] * CLIENTS, keeper.stderr
    return sessions / (time.monotonic() - start)


def settle(keeper: keepers.Process) -> None:
    """As many recycled shells as there may be, whatever came before."""
    with keeper.connect() as control:
        for session in [control.create("bare", "one_shot") for _ in range(8)]:
            session.end()
    keeper.wait_full()


@pytest.fixture(scope="module", params=keepers.USERS, ids=lambda uid: f"uid{uid}")
def keeper(request: pytest.FixtureRequest) -> Iterator[keepers.Process]:
    with keepers.started(*OPTIONS, uid=request.param) as one:
        yield one


def test_sessions_that_come_and_go_leave_nothing(
    keeper: keepers.Process, long_run: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    sessions = 2000 if keeper.uid == 0 else 800
    if long_run:
        sessions *= 5
    drive(keeper, 400)  # what is only made once
    settle(keeper)
    if os.geteuid() == 0:
        keepers.limit_namespaces(keeper.roles().foundation, NAMESPACES)
    before = keeper.census()

    rate = drive(keeper, sessions)

    settle(keeper)
    after = keeper.wait_same(before)
    slope = (after.private_kib - before.private_kib) / sessions
    with capsys.disabled():
        print(
            f"\n  uid {keeper.uid}: {sessions} sessions, {CLIENTS} clients: {rate:.0f}/s; keeper "
            f"{before.rss_kib} -> {after.rss_kib} KiB, {slope:.3f} KiB of its own per session"
        )
    assert slope <= SLOPE
    assert " error " not in keeper.stderr and "died" not in keeper.stderr, keeper.stderr


def test_deaths_resets_and_broken_clients_leave_nothing(keeper: keepers.Process) -> None:
    settle(keeper)
    before = keeper.census()

    for i in range(40):
        control = keeper.connect()
        sessions = [control.create(*KINDS[j % len(KINDS)]) for j in range(4)]
        sessions[0].run("import os; os._exit(3)")
        sessions[1].begin("import os\nfor _ in range(9): os.fork()\nwhile True: pass")
        sessions[2].kill()
        sessions[3].reset()
        assert sessions[3].run("1 + 1").texts == ["2"]
        if i % 2:
            control.close()  # without a word
            control = keeper.connect()
        for session in list(control.list()):
            control.call(client.wire.END, session.to_bytes(8, "little"))
        for session in sessions:
            session.close()
        control.close()

    settle(keeper)
    keeper.wait_same(before)
