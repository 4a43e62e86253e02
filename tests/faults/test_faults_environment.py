# SPDX-License-Identifier: Apache-2.0
"""Hosts that lack something: each is a typed refusal with a remedy, or works and says what is weaker.

Never a hang, never a jail with a wall missing, nothing left behind.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import census
import keepers
import pytest
import surroundings
from refusals import ROOT_ONLY, SMALL, refused


@pytest.mark.parametrize("uid", keepers.USERS)
@pytest.mark.parametrize("why", surroundings.NO_NAMESPACES)
def test_a_host_without_user_namespaces_is_refused(why: str, uid: int) -> None:
    if uid == 0 and "max_user" in why:
        pytest.skip("root of the host has no such limit; a container's root is refused below")
    log = refused(uid=uid, says="user namespace", before=surroundings.NO_NAMESPACES[why])
    assert "sysctl user.max_user_namespaces" in log


@pytest.mark.parametrize("kind", ["mnt", "pid", "net", "ipc", "uts", "cgroup"])
def test_a_host_that_lacks_a_kind_of_namespace_is_refused(kind: str) -> None:
    uid = keepers.NOBODY if os.geteuid() == 0 else os.geteuid()
    before = surroundings.inside_a_user_namespace(**{kind: 0})
    refused(uid=uid, says="No space left on device", before=before, typed=False)


@ROOT_ONLY
def test_root_without_a_range_of_ids_is_refused() -> None:
    refused(says="start it as an ordinary user", before=surroundings.inside_a_user_namespace())


@ROOT_ONLY
@pytest.mark.parametrize("mask", ["/proc/sys", "/proc/acpi", "/proc/scsi"])
def test_a_masked_proc_is_refused(mask: str) -> None:
    if not os.path.isdir(mask):
        pytest.skip(f"no {mask} on this kernel")
    wrapper = surroundings.after(f"mount -t tmpfs none {mask}")
    refused(says="mounting /proc", wrapper=wrapper)


@ROOT_ONLY
def test_a_host_without_proc_is_refused() -> None:
    build = str(keepers.PROGRAM.parent)
    refused(
        "--runtime",
        f"{build}/../runtime",
        "--init",
        f"{build}/vitrine-init",
        says="there is no /proc",
        wrapper=surroundings.after("mount -t tmpfs none /proc"),
    )


@pytest.mark.parametrize("uid", keepers.USERS)
def test_a_kernel_without_close_range_is_refused(uid: int) -> None:
    refused(
        uid=uid, says="died", before=surroundings.refusing(close_range=errno.ENOSYS), typed=False
    )


@pytest.mark.parametrize("uid", keepers.USERS)
def test_a_kernel_without_landlock_is_named(uid: int) -> None:
    before = surroundings.refusing(landlock_create_ruleset=errno.ENOSYS)
    with keepers.started(*SMALL, uid=uid, before=before) as keeper:
        assert keeper.info()["isolation"]["landlock_abi"] == 0
        with keeper.connect() as control, control.create("bare") as session:
            assert session.run("1 + 1").texts == ["2"]


@pytest.mark.parametrize("uid", keepers.USERS)
@pytest.mark.parametrize("most", [16, 64, 1000])
def test_too_few_descriptors_are_refused(most: int, uid: int) -> None:
    refused(uid=uid, says="descriptors may be open", before=surroundings.limited(NOFILE=most))


RLIMITS = "import resource; resource.getrlimit(resource.RLIMIT_DATA)[0] >> 20"


@ROOT_ONLY
@pytest.mark.parametrize(
    "how",
    ["mount -t tmpfs none /sys/fs/cgroup", "mount -o bind,ro /sys/fs/cgroup /sys/fs/cgroup"],
    ids=["hidden", "read-only"],
)
def test_without_cgroups_the_limits_that_are_left_are_in_force_and_named(how: str) -> None:
    if "ro" in how:  # every hierarchy is a mount of its own
        how = "for d in /sys/fs/cgroup/*/; do mount -o bind,ro $d $d; mount -o remount,bind,ro $d; done"
    with keepers.started(*SMALL, wrapper=surroundings.after(how)) as keeper:
        isolation = keeper.info()["isolation"]
        assert isolation["level"] == "full"
        assert isolation["cgroups"] == "none"
        assert "best effort" in isolation["memory"]
        assert isolation["limits_level"] == "best_effort"
        assert isolation["best_effort"] == ["memory_mb", "cpus"]
        assert "limits: best effort: memory_mb, cpus (" in keeper.stderr
        with keeper.connect() as control, control.create("bare") as session:
            assert session.run(RLIMITS).texts == ["512"]
        assert keeper.terminate() == 0


@ROOT_ONLY
def test_without_the_memory_controller_alone_memory_is_still_limited() -> None:
    hidden = [
        words[4]
        for line in Path("/proc/self/mountinfo").read_text().splitlines()
        if (words := line.split()) and "memory" in words[-1].split(",")
    ]
    if not hidden:
        pytest.skip("memory is not a hierarchy of its own here")
    with keepers.started(*SMALL, wrapper=surroundings.after(f"umount {hidden[0]}")) as keeper:
        isolation = keeper.info()["isolation"]
        assert "best effort" in isolation["memory"]
        assert isolation["limits_level"] == "best_effort"
        assert "memory_mb" in isolation["best_effort"]
        assert isolation["processes"] == "cgroup"
        with keeper.connect() as control, control.create("bare") as session:
            assert session.run(RLIMITS).texts == ["512"]
        assert keeper.terminate() == 0


@pytest.mark.parametrize("mib", [8, 32, 200])
def test_too_little_address_space_is_an_end_with_a_reason(mib: int) -> None:
    keeper = keepers.Process(*SMALL, uid=os.geteuid(), before=surroundings.limited(AS=mib << 20))
    try:
        assert not keeper.wait_ready(), "it started"
        assert keeper.process.returncode in (1, 127), keeper.stderr  # 127: the loader's own
        assert keeper.stderr
        assert census.within(lambda: not keeper.remains()), keeper.remains()
    finally:
        keeper.discard()


@contextlib.contextmanager
def memory_cgroup(mib: int) -> Iterator[Path]:
    own = Path("/sys/fs/cgroup/memory") / next(
        line.split(":", 2)[2].lstrip("/")
        for line in Path("/proc/self/cgroup").read_text().splitlines()
        if line.split(":")[1] == "memory"
    )
    group = own / f"vitrine-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(mib << 20))
        yield group
    finally:
        assert census.until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


@ROOT_ONLY
def test_too_little_memory_for_python_is_an_end_with_a_reason() -> None:
    if not os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        pytest.skip("no v1 memory hierarchy to make such a host with")
    with memory_cgroup(24) as group:
        join = f"echo $$ > {group}/cgroup.procs"
        log = refused(
            says="no Python can be started", wrapper=("/bin/sh", "-c", f'{join} && exec "$@"', "sh")
        )
        assert "remedy:" in log
