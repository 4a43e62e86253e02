# SPDX-License-Identifier: Apache-2.0
"""Every system call that makes a shell or seals a worker fails once: no partial jail ever runs code.

The keeper is told through a file which call of the next sequence is to fail (jail::Sys numbers
them). For every number a session is asked for: it must be refused, with the step named, and nothing
may be left. Numbers that would be swallowed show up as a session in the middle of the refusals.
"""

from __future__ import annotations

from collections.abc import Iterator

import census
import client
import keepers
import pytest

# A zygote that cannot return from a session's pid namespace is of no more use, and ends itself.
ZYGOTE_DIED = "the zygote died before it answered"

TOLD = ("Input/output error", ZYGOTE_DIED, "the working directory is not inside the session")

# More than any sequence has; the end is found, not assumed.
MANY = 400

# Steps that must be seen to fail, by the names of src/jail/shell.h and src/jail/worker.h.
SHELL_STEPS = {
    "making a network namespace",
    "raising the loopback interface",
    "cloning a shell",
    "mapping its ids",
    "descriptors",
    "sandbox ids",
    "private mounts",
    "root",
    "namespaces",
    "inotify",
    "settings",
    "pivot",
    "host name",
    "home",
    "landlock rules",
    "cgroup namespace",
    "privileges",
    "parent death",
    "ready",
    "init",
}
WORKER_STEPS = {
    "forking a worker",
    ZYGOTE_DIED,
    "descriptors",
    "namespaces",
    "oom score",
    "home",
    "stdin",
    "sandbox ids",
    "resource limits",
    "privileges",
    "landlock",
    "seccomp",
}

# Run in a session that was made although a call was to fail: tells whether its jail is whole.
WHOLE = """
import os, re, resource
status = open('/proc/self/status').read()
field = lambda name: re.search(rf'^{name}:\\s*(.*)$', status, re.M).group(1)
try:
    os.kill(1, 0)
    reach = 'Landlock lets signals out'
except PermissionError:
    reach = 'no signal leaves the domain'
(
    [field(f'Cap{kind}') for kind in ('Inh', 'Prm', 'Eff', 'Bnd', 'Amb')],
    field('NoNewPrivs'), field('Seccomp'), field('Seccomp_filters'), field('Umask'), reach,
    os.getresuid(), os.getresgid(), os.getgroups(), os.getcwd(), os.getsid(0) == os.getpid(),
    [os.readlink(f'/proc/self/fd/{fd}').split(':')[0] for fd in (0, 1, 2, 1023)],
    len(os.listdir('/proc/self/fd')), sorted(os.listdir('/')),
    [line.split()[4:6] for line in open('/proc/self/mountinfo')],
    [line.split(':')[1:] for line in open('/proc/self/cgroup')],
    [resource.getrlimit(getattr(resource, n)) for n in sorted(dir(resource)) if n[:7] == 'RLIMIT_'],
    open('/proc/self/oom_score_adj').read(), open('/proc/sys/kernel/hostname').read(),
    [open(f'/proc/sys/user/max_{kind}_namespaces').read() for kind in ('user', 'mnt', 'pid', 'net')],
)
"""


@pytest.fixture(scope="module", params=keepers.USERS, ids=lambda uid: f"uid{uid}")
def faulty(request: pytest.FixtureRequest) -> Iterator[tuple[keepers.Process, keepers.Faults]]:
    with keepers.faulty(request.param, recycled=4) as both:
        yield both


def step_of(error: client.KeeperError) -> str:
    """ "building a shell: root: mounting ... failed: ..." is the step "root"."""
    parts = error.message.split(": ")
    named = parts[1] if parts[0] in ("building a shell", "starting a worker") else parts[0]
    return named.removesuffix(" failed")


def sweep(
    keeper: keepers.Process,
    faults: keepers.Faults,
    shell: bool,
    create: object,
    recycled: bool = False,
) -> list[str]:
    """Lets every call fail in turn; the steps that were named, in order."""
    steps: list[str] = []
    with keeper.connect() as control:
        with create(control) as session:  # type: ignore[operator]
            whole = session.run(WHOLE).texts
        for number in range(1, MANY):
            if recycled:
                provide_recycled(keeper, control)
            faults.set(**{"shell" if shell else "worker": number})
            try:
                session = create(control)  # type: ignore[operator]
            except client.KeeperError as error:
                assert any(text in error.message for text in TOLD), (number, steps[-3:], error)
                assert error.code in ("internal", "unavailable"), error
                steps.append(step_of(error))
            else:
                made = session.run(WHOLE).texts
                faults.set()
                session.end()
                assert made == whole, "a partial jail has run code"
                assert (
                    "no signal leaves" in whole[0] or keeper.info()["isolation"]["landlock_abi"] < 6
                )
                return steps
            finally:
                faults.set()
            assert control.list() == {}
    raise AssertionError("the sequence has no end")


def provide_recycled(keeper: keepers.Process, control: client.Keeper) -> None:
    while keeper.info()["pools"]["recycled"] == 0:
        control.create("bare", "one_shot").end()


def test_a_shell_with_any_call_failing_is_refused_and_leaves_nothing(
    faulty: tuple[keepers.Process, keepers.Faults],
) -> None:
    keeper, faults = faulty
    keeper.wait_full()
    before = keeper.census()

    steps = sweep(keeper, faults, True, lambda c: c.create("bare", "session", keepers.UNUSUAL))

    assert SHELL_STEPS <= set(steps), SHELL_STEPS - set(steps)
    assert len(steps) > 100, steps
    keeper.wait_same(before)


def test_a_worker_with_any_call_failing_is_refused_and_leaves_nothing(
    faulty: tuple[keepers.Process, keepers.Faults],
) -> None:
    keeper, faults = faulty
    keeper.wait_full()
    before = keeper.census()

    steps = sweep(keeper, faults, False, lambda c: c.create("bare", "session"))

    assert WORKER_STEPS <= set(steps), WORKER_STEPS - set(steps)
    assert len(steps) > 50, steps
    keeper.wait_same(before)


def test_a_worker_of_a_recycled_shell_with_any_call_failing_is_refused_and_leaves_nothing(
    faulty: tuple[keepers.Process, keepers.Faults],
) -> None:
    keeper, faults = faulty
    keeper.wait_full()
    if keeper.uid != 0:
        pytest.skip("shells are recycled only where there are cgroups to empty them")

    steps = sweep(keeper, faults, False, lambda c: c.create("bare", "one_shot"), recycled=True)

    assert WORKER_STEPS | {"scratch"} <= set(steps), WORKER_STEPS - set(steps)
    assert len(steps) > 80, steps
    keeper.wait_full()


def test_a_pool_that_cannot_be_filled_is_tried_again_without_spinning(
    faulty: tuple[keepers.Process, keepers.Faults],
) -> None:
    keeper, faults = faulty
    keeper.wait_full()
    roles = keeper.roles()
    busy = [roles.keeper, roles.builder]
    faults.set(shell=40)
    with keeper.connect() as control:
        control.create("bare").end()  # takes the last shell

        def failures() -> int:
            return keeper.stderr.count("filling the pool")

        first = failures()
        before = sum(map(census.cpu_seconds, busy))
        assert census.until(lambda: failures() >= first + 5)
        spent = sum(map(census.cpu_seconds, busy)) - before

    assert spent < 1.0, f"{spent} s of processor time for five attempts"
    faults.set()
    keeper.wait_full()
