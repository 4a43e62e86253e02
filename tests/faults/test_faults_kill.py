# SPDX-License-Identifier: Apache-2.0
"""kill -9 of every kind of process, idle, busy and while something is being made of it.

The owner of a session is told what happened to it, its neighbour notices nothing, and everything is
as it was afterwards.
"""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import threading
import time
from collections.abc import Iterator

import census
import client
import keepers
import pytest

BUSY = "import time\nt = time.monotonic()\nwhile True: pass"
KILLED = ("signalled", signal.SIGKILL)
# How a create may end while the ground under it is being pulled away: a death, or what it led to.
HONEST = {"unavailable", "internal"}


@pytest.fixture(autouse=True)
def everything_as_before(keeper: keepers.Process) -> Iterator[None]:
    keeper.wait_full()
    before = keeper.census()
    yield
    keeper.wait_same(before)


@pytest.fixture
def control(keeper: keepers.Process) -> Iterator[client.Keeper]:
    with keeper.connect() as connection:
        yield connection
        for session in connection.list():
            with contextlib.suppress(client.KeeperError):
                connection.attach(session).end()


@pytest.fixture
def neighbour(keeper: keepers.Process, control: client.Keeper) -> Iterator[client.Session]:
    """Another client's session, with something to lose."""
    with keeper.connect() as connection:
        session = connection.create("bare")
        assert session.run("mine = 'still here'").outcome == "ok"
        yield session
        assert session.run("mine").texts == ["'still here'"]
        assert connection.events == []
        session.end()


def wait_death(session: client.Session) -> tuple[str, int]:
    execution = client.Execution(0)
    session.wait(execution, limit=keepers.SAFETY)
    assert execution.death is not None
    return execution.death


def end_dead(control: client.Keeper, session: client.Session) -> None:
    assert control.list()[session.id][0], "it is not listed as dead"
    with pytest.raises(client.KeeperError) as refused:
        session.interrupt()
    assert refused.value.code == "unavailable"
    session.end()
    assert session.id not in control.list()


def new_children(keeper: keepers.Process, known: set[int]) -> set[int]:
    path = f"/proc/{keeper.pid}/task/{keeper.pid}/children"
    return {int(pid) for pid in census._text(path).split()} - known


@contextlib.contextmanager
def sniper(keeper: keepers.Process, delay: float) -> Iterator[list[int]]:
    """Kills the next child of the keeper that appears, `delay` seconds after it was seen."""
    known = new_children(keeper, set())
    shot: list[int] = []
    over = threading.Event()

    def hunt() -> None:
        while not over.is_set():
            for pid in new_children(keeper, known):
                end = time.monotonic() + delay
                while time.monotonic() < end:
                    pass
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    shot.append(pid)
                return

    thread = threading.Thread(target=hunt)
    thread.start()
    try:
        yield shot
    finally:
        over.set()
        thread.join()


def kill_and_wait(victims: set[int]) -> None:
    """Returns when the keeper knows of it."""
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    assert census.until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in victims))


def create_honestly(control: client.Keeper, *arguments: object) -> client.Session | str:
    """A session, or the code of a typed refusal that came in time."""
    try:
        return control.create(*arguments)  # type: ignore[arg-type]
    except client.KeeperError as error:
        assert error.code in HONEST, error
        assert error.message
        return error.code


# --------------------------------------------------------------------------------------- workers


@pytest.mark.parametrize("code", [None, BUSY], ids=["idle", "busy"])
@pytest.mark.parametrize("victim", [2, 1], ids=["worker", "init"])
def test_a_killed_worker_or_init_is_told_to_its_owner(
    control: client.Keeper, neighbour: client.Session, victim: int, code: str | None
) -> None:
    session = control.create("bare")
    pid = keepers.session_pids(session)[victim]
    if code:
        session.begin(code)
        assert census.until(lambda: census.state(pid) in "RS")

    os.kill(pid, signal.SIGKILL)

    assert wait_death(session) == KILLED
    end_dead(control, session)


@pytest.mark.parametrize("what", ["worker", "shell"])
@pytest.mark.parametrize("delay_ms", [0.0, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0])
def test_a_kill_while_a_session_is_made_is_an_honest_refusal_or_a_death(
    keeper: keepers.Process,
    control: client.Keeper,
    neighbour: client.Session,
    what: str,
    delay_ms: float,
) -> None:
    for _ in range(4):
        keeper.wait_full()
        limits = keepers.UNUSUAL if what == "shell" else None
        with sniper(keeper, delay_ms / 1000) as shot:
            made = create_honestly(control, "bare", "session", limits)
            # Killed after the hand-over, or not it but a shell for the pool was hit: somebody was.
            census.until(lambda: shot)
        if isinstance(made, str):
            continue
        if not census.within(lambda one=made: control.list()[one.id][0], 0.2):
            assert made.run("1 + 1").texts == ["2"]
        made.end()


def test_a_waiting_worker_that_is_killed_is_replaced(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    waiting = [
        pid
        for pid in census.belonging(keeper.pid, keeper.name, keeper.outer)
        if keeper.roles().name(pid) == "worker" and census.inner_pid(pid) == 2
    ]
    neighbours = keepers.session_pids(neighbour)[2]
    kill_and_wait(set(waiting) - {neighbours})

    keeper.wait_full()
    with control.create("loaded") as session:
        assert session.run("1 + 1").texts == ["2"]


def test_waiting_shells_that_are_killed_are_replaced(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    roles = keeper.roles()
    spared = keepers.session_pids(neighbour)[1]
    everybody = census.belonging(keeper.pid, keeper.name, keeper.outer)
    kill_and_wait({pid for pid in everybody if roles.name(pid) == "init"} - {spared})

    keeper.wait_full()
    with control.create("bare") as session:
        assert session.run("1 + 1").texts == ["2"]


# --------------------------------------------------------------------------------------- zygotes


def zygote_pid(keeper: keepers.Process, variant: str) -> int:
    return next(z["pid"] for z in keeper.info()["zygotes"] if z["variant"] == variant)


def respawned(keeper: keepers.Process, variant: str, old: int) -> bool:
    return any(
        z["variant"] == variant and z["warm"] and z["pid"] != old for z in keeper.info()["zygotes"]
    )


@pytest.mark.parametrize("variant", ["bare", "loaded"])
def test_a_killed_zygote_comes_back_and_its_sessions_live_on(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session, variant: str
) -> None:
    session = control.create(variant)
    session.run("x = 7")
    old = zygote_pid(keeper, variant)

    os.kill(old, signal.SIGKILL)
    made = create_honestly(control, variant)

    assert census.until(lambda: respawned(keeper, variant, old))
    assert session.run("x").texts == ["7"]
    session.end()
    if isinstance(made, client.Session):
        assert made.run("1 + 1").texts == ["2"]
        made.end()
    with control.create(variant) as another:
        assert another.run("1 + 1").texts == ["2"]


def test_a_zygote_killed_with_a_request_in_hand_gives_a_typed_refusal_or_a_session(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    old = zygote_pid(keeper, "bare")
    before = keeper.info()["shells"]
    os.kill(old, signal.SIGSTOP)
    number = control.start(
        client.wire.CREATE, bytes([0, 0]) + keepers.UNUSUAL.encode() + keepers.wire.unadorned()
    )
    # The shell is built without the zygote; the fork is asked of it then.
    assert census.until(lambda: keeper.info()["shells"] > before)

    os.kill(old, signal.SIGKILL)

    try:
        reader, fds = control.finish(number)
        session = client.Session(control, client.wire.opened(reader, fds))
        assert session.run("1 + 1").texts == ["2"]
        session.end()
    except client.KeeperError as error:
        assert error.code == "unavailable", error


def test_zygotes_killed_under_load_cost_at_most_typed_refusals(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    outcomes: list[str] = []

    def load() -> None:
        with keeper.connect() as mine:
            for _ in range(15):
                made = create_honestly(mine, "bare")
                if isinstance(made, client.Session):
                    assert made.run("6 * 7").texts == ["42"]
                    made.end()
                outcomes.append(made if isinstance(made, str) else "ok")

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        old = zygote_pid(keeper, "bare")
        with contextlib.suppress(ProcessLookupError):
            os.kill(old, signal.SIGKILL)
        census.until(lambda: respawned(keeper, "bare", old))  # noqa: B023
        for thread in threads:
            thread.join(0.02)

    assert len(outcomes) == 60
    assert outcomes.count("ok") > 0


# ------------------------------------------------------------------------------ builder, foundation


def test_a_killed_builder_comes_back_and_sessions_live_on(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    old = keeper.roles().builder

    os.kill(old, signal.SIGKILL)

    assert census.until(lambda: keeper.roles().builder not in (old, -1))
    with control.create("bare", "session", keepers.UNUSUAL) as session:
        assert session.source == "built"
        assert session.run("1 + 1").texts == ["2"]


def test_builder_and_zygote_come_back_beside_many_sessions(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    """Many sessions mean high numbers of descriptors in the keeper."""
    sessions = [control.create("bare") for _ in range(60)]
    before = keeper.roles()

    os.kill(before.builder, signal.SIGKILL)
    os.kill(before.zygotes["bare"], signal.SIGKILL)

    assert census.until(lambda: keeper.roles().builder not in (before.builder, -1))
    assert census.until(lambda: respawned(keeper, "bare", before.zygotes["bare"]))
    with control.create("bare", "session", keepers.UNUSUAL) as session:
        assert session.run("1 + 1").texts == ["2"]
    for session in sessions:
        session.end()


def test_a_builder_killed_with_requests_in_hand_gives_typed_refusals(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    old = keeper.roles().builder
    os.kill(old, signal.SIGSTOP)
    request = bytes([0, 0]) + keepers.UNUSUAL.encode() + keepers.wire.unadorned()
    numbers = [control.start(client.wire.CREATE, request) for _ in range(4)]
    control.info()  # the requests before it have been handled

    os.kill(old, signal.SIGKILL)

    for number in numbers:
        with pytest.raises(client.KeeperError) as refused:
            control.finish(number)
        assert refused.value.code == "unavailable", refused.value


def test_builders_killed_under_load_cost_at_most_typed_refusals(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    outcomes = []
    for _ in range(12):
        request = bytes([0, 0]) + keepers.UNUSUAL.encode() + keepers.wire.unadorned()
        numbers = [control.start(client.wire.CREATE, request) for _ in range(3)]
        builder = keeper.roles().builder
        if builder > 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(builder, signal.SIGKILL)
        for number in numbers:
            try:
                reader, fds = control.finish(number)
                session = client.Session(control, client.wire.opened(reader, fds))
                assert session.run("6 * 7").texts == ["42"]
                session.end()
                outcomes.append("ok")
            except client.KeeperError as error:
                assert error.code in HONEST, error
                outcomes.append(error.code)
    assert len(outcomes) == 36


@pytest.mark.parametrize("when", ["idle", "busy", "creating"])
def test_a_killed_foundation_ends_all_sessions_and_everything_starts_anew(
    keeper: keepers.Process, control: client.Keeper, when: str
) -> None:
    sessions = [control.create("bare") for _ in range(3)]
    if when == "busy":
        for session in sessions:
            session.begin(BUSY)
    numbers = []
    if when == "creating":
        request = bytes([0, 0]) + keepers.UNUSUAL.encode() + keepers.wire.unadorned()
        numbers = [control.start(client.wire.CREATE, request) for _ in range(3)]
    old = keeper.roles().foundation

    os.kill(old, signal.SIGKILL)

    assert {wait_death(session) for session in sessions} == {KILLED}
    for number in numbers:
        with contextlib.suppress(client.KeeperError):
            reader, fds = control.finish(number)
            sessions.append(client.Session(control, client.wire.opened(reader, fds)))
    for session in sessions:
        session.end()
    keeper.wait_full()
    assert keeper.roles().foundation != old
    with control.create("bare") as session:
        assert session.run("1 + 1").texts == ["2"]


# ------------------------------------------------------------------------------- resets and ends


def reset_body(session: client.Session, keep_files: bool) -> bytes:
    return struct.pack("<QB", session.id, int(keep_files))


@pytest.mark.parametrize("keep_files", [False, True], ids=["wipe", "keep"])
def test_an_end_that_comes_during_a_reset_is_answered_and_leaves_nothing(
    control: client.Keeper, neighbour: client.Session, keep_files: bool
) -> None:
    for _ in range(5):
        session = control.create("bare")
        reset = control.start(client.wire.RESET, reset_body(session, keep_files))
        end = control.start(client.wire.END, struct.pack("<Q", session.id))

        with contextlib.suppress(client.KeeperError):  # it may be through already
            control.finish(reset)
        control.finish(end)

        assert session.id not in control.list()
        session.close()


def test_an_end_that_comes_during_a_create_is_answered_and_leaves_nothing(
    control: client.Keeper, neighbour: client.Session
) -> None:
    for _ in range(5):
        known = control.create("bare")
        known.end()
        request = bytes([0, 0]) + keepers.UNUSUAL.encode() + keepers.wire.unadorned()
        create = control.start(client.wire.CREATE, request)
        end = control.start(client.wire.END, struct.pack("<Q", known.id + 1))

        with pytest.raises(client.KeeperError) as refused:
            control.finish(create)
        control.finish(end)

        assert refused.value.code == "unavailable"


@pytest.mark.parametrize("keep_files", [False, True], ids=["wipe", "keep"])
@pytest.mark.parametrize("delay_ms", [0.0, 1.0, 4.0])
def test_a_kill_during_a_reset_is_an_honest_refusal_or_a_death(
    keeper: keepers.Process,
    control: client.Keeper,
    neighbour: client.Session,
    keep_files: bool,
    delay_ms: float,
) -> None:
    for _ in range(3):
        keeper.wait_full()
        session = control.create("bare")
        session.close()
        with sniper(keeper, delay_ms / 1000):
            reset = control.start(client.wire.RESET, reset_body(session, keep_files))
            try:
                control.finish(reset)
            except client.KeeperError as error:
                assert error.code in {*HONEST, "unsupported"}, error
        with contextlib.suppress(client.KeeperError):  # a failed reset may have ended it
            control.call(client.wire.END, struct.pack("<Q", session.id))
        assert session.id not in control.list()


@pytest.mark.parametrize("victim", [2, 1], ids=["worker", "init"])
def test_a_reset_after_a_kill_gives_a_fresh_worker(
    control: client.Keeper, neighbour: client.Session, victim: int
) -> None:
    session = control.create("bare")
    session.run("x = 1")
    os.kill(keepers.session_pids(session)[victim], signal.SIGKILL)
    assert wait_death(session) == KILLED

    session.reset()

    assert session.run("'x' in globals()").texts == ["False"]
    session.end()


# --------------------------------------------------------------------------------------- clients


def start_client(keeper: keepers.Process, code: str | None) -> int:
    """A client in a process of its own, with a session in the state wanted when this returns."""
    said, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with keeper.connect() as mine:
                if code is None:
                    mine.post(
                        client.wire.CREATE,
                        bytes([0, 0]) + keepers.UNUSUAL.encode() + keepers.wire.unadorned(),
                        1,
                    )
                else:
                    session = mine.create("bare")
                    session.run("x = 5")
                    if code:
                        session.begin(code)
                os.write(say, b".")
                time.sleep(keepers.SAFETY)
        finally:
            os._exit(1)
    os.close(say)
    assert os.read(said, 1) == b"."
    os.close(said)
    return pid


def kill_client(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def test_the_session_of_a_killed_idle_client_can_be_adopted(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    known = set(control.list())
    kill_client(start_client(keeper, ""))
    (orphan,) = set(control.list()) - known

    session = control.attach(orphan)

    assert session.run("x").texts == ["5"]
    session.end()


def test_an_execution_goes_on_when_its_client_is_killed(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    known = set(control.list())
    code = "import time\ntime.sleep(0.3)\nprint('went on')\nx + 1"
    kill_client(start_client(keeper, code))
    (orphan,) = set(control.list()) - known

    session = control.attach(orphan)
    execution = client.Execution(2)
    session.wait(execution)

    assert (execution.texts, execution.stdout) == (["6"], b"went on\n")
    session.end()


def test_a_client_killed_while_its_session_is_made_leaves_none_that_cannot_be_ended(
    keeper: keepers.Process, control: client.Keeper, neighbour: client.Session
) -> None:
    known = set(control.list())
    for _ in range(5):
        kill_client(start_client(keeper, None))
    control.create().end()  # behind them in the line

    for orphan in set(control.list()) - known:  # its answer was on the way already
        session = control.attach(orphan)
        assert session.run("1 + 1").texts == ["2"]
        session.end()
    assert set(control.list()) == known
