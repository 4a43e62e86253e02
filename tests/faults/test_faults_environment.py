# SPDX-License-Identifier: Apache-2.0
"""Hosts that lack something: each is a typed refusal with a remedy, or works and says what is weaker.

Never a hang, never a jail with a wall missing, nothing left behind.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import census
import client
import keepers
import pytest
import surroundings

SMALL = ("--pool", "1", "--shells", "1", "--recycled", "0")
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make such a host")
CODES = ("invalid_argument", "not_found", "conflict", "over_limit", "unsupported", "unavailable")


def refused(*options: str, says: str, typed: bool = True, **how: object) -> str:
    """Starts a keeper that must end by itself, with a reason; gives the log."""
    how.setdefault("uid", os.geteuid())
    keeper = keepers.Process(*SMALL, *options, **how)  # type: ignore[arg-type]
    try:
        assert not keeper.wait_ready(), "it started"
        assert keeper.process.returncode in (1, 2), (keeper.process.returncode, keeper.stderr)
        log = keeper.stderr
        assert says in log, log
        if typed:
            assert "remedy:" in log, log
            assert any(f"{code}:" in log for code in (*CODES, "internal")), log
        assert census.within(lambda: not keeper.remains()), keeper.remains()
        assert not os.path.lexists(keeper.control)
        return log
    finally:
        keeper.discard()


# ----------------------------------------------------------------------------- image and programs


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="vitrine-faults-") as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)


@pytest.fixture
def image(open_path: Path) -> Path:
    """An image that is whole; tests break their own."""
    (open_path / "root").symlink_to(keepers.IMAGE / "root")
    (open_path / "manifest.json").write_bytes((keepers.IMAGE / "manifest.json").read_bytes())
    return open_path


def test_a_missing_image_is_refused(tmp_path: Path) -> None:
    refused(says="not_found: there is no runtime image", image=tmp_path / "none")


def test_an_image_without_a_tree_is_refused(image: Path) -> None:
    (image / "root").unlink()
    refused(says="damaged: it has no root directory", image=image)


def test_an_image_without_a_manifest_is_refused(image: Path) -> None:
    (image / "manifest.json").unlink()
    refused(says="damaged: it has no readable manifest", image=image)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": }', "\0\xff" * 10, '{"format": 1}'])
def test_an_image_with_a_broken_manifest_is_refused(image: Path, text: str) -> None:
    (image / "manifest.json").write_text(text)
    refused(says="damaged: its manifest is not readable", image=image)


@pytest.mark.parametrize("format", [0, 2, 99])
def test_an_image_of_another_format_is_refused(image: Path, format: int) -> None:
    manifest = json.loads((image / "manifest.json").read_text())
    (image / "manifest.json").write_text(json.dumps({**manifest, "format": format}))
    refused(says=f"has format {format}, this program needs", image=image)


def python_file() -> str:
    """The interpreter's own file, relative to the image's tree."""
    root = keepers.IMAGE / "root"
    return os.path.join("usr/bin", os.readlink(root / "usr/bin/python3"))


DAMAGE = {
    "python3 is missing": ("rm usr/bin/python3", "/usr/bin/python3 is missing"),
    "python is missing": (f"rm {python_file()}", "/usr/bin/python3 is missing"),
    "python is cut off": (f"truncate -s 100000 {python_file()}", "no Python can be started"),
    "python is empty": (f"truncate -s 0 {python_file()}", "no Python can be started"),
    "the C library is missing": ("rm $(find usr/lib -name libc.so.6)", "no Python can be started"),
    "the C library is cut off": (
        "truncate -s 5000 $(find usr/lib -name libc.so.6)",
        "no Python can be started",
    ),
    "the standard library is missing": (
        "mv usr/lib/python3.* usr/lib/elsewhere",
        "no Python can be started",
    ),
    "the home is missing": ("rm -r home/sandbox", "/home/sandbox is missing"),
    "there is no /proc": ("rm -r proc", "/proc is missing"),
}


@ROOT_ONLY
@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_image_is_refused(image: Path, what: str) -> None:
    command, says = DAMAGE[what]
    refused(says=says, image=image, wrapper=with_damage(image, command))


def with_damage(image: Path, command: str) -> tuple[str, ...]:
    (image / "root").unlink()
    (image / "root").mkdir()
    copy = surroundings.damaged_copy(keepers.IMAGE / "root", image / "root", command)
    return surroundings.after(*copy)


@ROOT_ONLY
@pytest.mark.parametrize("module", ["_multiarray_umath.", "pandas/_libs/lib."])
def test_an_image_whose_packages_are_cut_off_is_refused(image: Path, module: str) -> None:
    find = f"find . -path '*{module}*.so'"
    cut = f"{find} | grep . >&2 && {find} -exec truncate -s 20000 {{}} +"
    refused(says="no Python can be started", image=image, wrapper=with_damage(image, cut))


@ROOT_ONLY
def test_an_image_that_sessions_may_not_read_is_refused(image: Path) -> None:
    (image / "root").unlink()
    (image / "root").mkdir()
    for part in (keepers.IMAGE / "root").iterdir():
        (image / "root" / part.name).symlink_to(part)
    (image / "root").chmod(0o700)
    refused(says="let everyone read the image", image=image)


def test_a_missing_runtime_is_refused(open_path: Path) -> None:
    refused("--runtime", str(open_path), says="the session runtime")


def test_a_runtime_without_its_parts_is_refused(open_path: Path) -> None:
    (open_path / "usr/lib/vitrine").mkdir(parents=True)
    refused("--runtime", str(open_path), says="the session runtime")


def test_a_missing_init_is_refused(tmp_path: Path) -> None:
    refused("--init", str(tmp_path / "none"), says="vitrine-init")


def test_an_init_that_is_no_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "init").write_text("not a program")
    refused("--init", str(tmp_path / "init"), says="vitrine-init")


# ------------------------------------------------------------------------------------ command line


@pytest.mark.parametrize(
    "options",
    [
        ("--pool", "many"),
        ("--pool", "-1"),
        ("--shells", "0"),
        ("--capacity", "0"),
        ("--children-per-zygote", "0"),
        ("--uid-base", "0"),
        ("--name", "a/b"),
        ("--name", ""),
        ("--nonsense", "1"),
        ("--pool",),
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_named(options: tuple[str, ...]) -> None:
    log = refused(*options, says=options[0])
    assert "invalid_argument" in log


def test_a_control_path_that_is_too_long_is_refused(tmp_path: Path) -> None:
    refused("--control", str(tmp_path / ("x" * 120)), says="invalid_argument")


def test_a_control_path_in_no_directory_is_refused(tmp_path: Path) -> None:
    refused("--control", str(tmp_path / "none" / "control"), says="binding the control socket")


@ROOT_ONLY
def test_a_control_path_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    refused(
        "--control",
        str(tmp_path / "control"),
        uid=keepers.NOBODY,
        says="binding the control socket",
    )


# --------------------------------------------------------------------------------- kernel features


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


# ----------------------------------------------------------------------------------------- cgroups

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


# ------------------------------------------------------------------------------------------ memory


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


# ------------------------------------------------------------------- what runs out while it is busy


@pytest.fixture
def calm(keeper: keepers.Process) -> Iterator[client.Keeper]:
    """A connection that exists before anything runs out; everything is as before afterwards."""
    keeper.wait_full()
    before = keeper.census()
    with keeper.connect() as control:
        neighbour = control.create("bare")
        neighbour.run("x = 8")
        yield control
        assert neighbour.run("x").texts == ["8"]
        neighbour.end()
    keeper.wait_same(before)


def soft_limit(pid: int, what: int) -> int:
    name = {resource.RLIMIT_NOFILE: "open files", resource.RLIMIT_NPROC: "processes"}[what]
    for line in Path(f"/proc/{pid}/limits").read_text().splitlines():
        if name in line:
            value = line.split(name)[1].split()[0]
            return resource.RLIM_INFINITY if value == "unlimited" else int(value)
    raise AssertionError(f"no limit of {name}")


def expect_over_limit(control: client.Keeper) -> None:
    with pytest.raises(client.KeeperError) as error:
        control.create("bare", "session", keepers.UNUSUAL)
    assert error.value.code == "over_limit", error.value


def expect_a_session(control: client.Keeper) -> None:
    with control.create("bare", "session", keepers.UNUSUAL) as session:
        assert session.run("1 + 1").texts == ["2"]


@ROOT_ONLY
@pytest.mark.parametrize("kind", ["user", "net", "mnt", "pid", "ipc", "uts", "cgroup"])
def test_no_namespace_left_is_a_typed_refusal_and_passes(
    keeper: keepers.Process, calm: client.Keeper, kind: str
) -> None:
    foundation = keeper.roles().foundation
    keepers.limit_namespaces(foundation, {kind: 1})
    try:
        expect_over_limit(calm)
    finally:
        keepers.limit_namespaces(foundation, {kind: 10_000})
    expect_a_session(calm)


@ROOT_ONLY
def test_no_cgroup_left_is_a_typed_refusal_and_passes(
    keeper: keepers.Process, calm: client.Keeper
) -> None:
    groups = [
        g for g in census.cgroup_directories(keeper.name) if g.name == f"vitrine-{keeper.name}"
    ]
    limits = [g / "cgroup.max.descendants" for g in groups]
    limits = [limit for limit in limits if limit.exists()]
    if not limits:
        pytest.skip("no v2 cgroups here")
    limits[0].write_text("1")
    try:
        expect_over_limit(calm)
    finally:
        limits[0].write_text("max")
    expect_a_session(calm)


@ROOT_ONLY
@pytest.mark.parametrize("who", ["builder", "zygote"])
def test_no_process_left_is_a_typed_refusal_and_passes(
    keeper: keepers.Process, calm: client.Keeper, who: str
) -> None:
    roles = keeper.roles()
    pid = roles.builder if who == "builder" else roles.zygotes["bare"]
    before = soft_limit(pid, resource.RLIMIT_NPROC)
    keepers.set_limit(pid, resource.RLIMIT_NPROC, 1)
    try:
        expect_over_limit(calm)
    finally:
        keepers.set_limit(pid, resource.RLIMIT_NPROC, before)
    expect_a_session(calm)


@ROOT_ONLY
def test_every_descriptor_that_is_missing_is_a_typed_refusal_and_passes(
    keeper: keepers.Process, calm: client.Keeper
) -> None:
    enough = soft_limit(keeper.pid, resource.RLIMIT_NOFILE)
    used = max(int(fd) for fd in os.listdir(f"/proc/{keeper.pid}/fd"))
    refusals = 0
    try:
        # From "not one more" on, so that each place that opens something fails once.
        for more in range(1, 60):
            keepers.set_limit(keeper.pid, resource.RLIMIT_NOFILE, used + more)
            try:
                session = calm.create("bare", "session", keepers.UNUSUAL)
            except client.KeeperError as error:
                assert error.code in ("over_limit", "unavailable"), error
                refusals += 1
            else:
                assert session.run("1 + 1").texts == ["2"]
                session.end()
                break
        else:
            raise AssertionError("never enough")
    finally:
        keepers.set_limit(keeper.pid, resource.RLIMIT_NOFILE, enough)
    assert refusals > 4
    expect_a_session(calm)


@ROOT_ONLY
def test_a_client_that_cannot_be_accepted_waits_and_costs_nothing(
    keeper: keepers.Process, calm: client.Keeper
) -> None:
    enough = soft_limit(keeper.pid, resource.RLIMIT_NOFILE)
    keepers.set_limit(keeper.pid, resource.RLIMIT_NOFILE, 3)
    try:
        spent = census.cpu_seconds(keeper.pid)
        logged = keeper.stderr.count("accepting a client")
        waiting = keeper.connect()
        assert census.until(lambda: keeper.stderr.count("accepting a client") >= logged + 5)
        assert census.cpu_seconds(keeper.pid) - spent < 0.3
    finally:
        keepers.set_limit(keeper.pid, resource.RLIMIT_NOFILE, enough)
    assert waiting.info()["sessions"] == 1
    waiting.close()


@ROOT_ONLY
def test_a_zygote_without_descriptors_is_replaced(
    keeper: keepers.Process, calm: client.Keeper
) -> None:
    old = keeper.roles().zygotes["bare"]
    keepers.set_limit(old, resource.RLIMIT_NOFILE, 8)

    with pytest.raises(client.KeeperError) as error:
        calm.create("bare")
    assert error.value.code in ("unavailable", "over_limit"), error.value

    assert census.until(lambda: keeper.roles().zygotes.get("bare", old) != old)
    expect_a_session(calm)


def test_a_stopped_builder_or_zygote_does_not_stop_the_others(
    keeper: keepers.Process, calm: client.Keeper
) -> None:
    roles = keeper.roles()
    stopped = (roles.builder, roles.zygotes["bare"])
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        with calm.create("loaded") as session:  # a worker that waits needs neither
            assert session.source == "warm"
            assert session.run("1 + 1").texts == ["2"]
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
