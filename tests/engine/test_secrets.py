# SPDX-License-Identifier: Apache-2.0
"""Nothing of the host is to be found in a session: not in its memory, not in /proc, not in files."""

from __future__ import annotations

import functools
import re
import socket
from typing import Any

import pytest
from attacks import attack, told
from engine_keepers import REPOSITORY, SECRET_PREFIX, both_modes, shared_keeper

pytestmark = both_modes

ENVIRONMENT = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TERM",
    "TMPDIR",
    "MPLBACKEND",
    "MPLCONFIGDIR",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "ARROW_DEFAULT_MEMORY_POOL",
    "JE_ARROW_MALLOC_CONF",
    "DISPLAY",
    "XAUTHORITY",
    "XCOMPOSEFILE",
    "XDG_RUNTIME_DIR",
    "SDL_AUDIODRIVER",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONUNBUFFERED",
}


def unlike_itself(text: str) -> str:
    """A pattern that matches `text` but not its own source."""
    return f"[{text[0]}]{re.escape(text[1:])}"


@functools.cache
def found(mode: str, variant: str = "loaded") -> dict[str, Any]:
    process = shared_keeper(mode)
    patterns = [
        unlike_itself(SECRET_PREFIX) + "[0-9a-f]{32}",
        unlike_itself("VITRINE_TEST_SECRET"),
        unlike_itself(process.directory),
        unlike_itself(f"{REPOSITORY}/"),
        unlike_itself(str(process.process.args[0])),  # type: ignore[index]
    ]
    if len(socket.gethostname()) > 6:
        patterns.append(unlike_itself(socket.gethostname()))
    with process.connect() as keeper, keeper.create(variant) as session:
        return told(attack(session, "secrets", PATTERNS="\n".join(patterns)))


@pytest.mark.parametrize("variant", ["bare", "loaded"])
def test_the_workers_memory_holds_nothing_of_the_host(mode: str, variant: str) -> None:
    hits = {
        place: sorted({bytes.fromhex(hit).decode("latin-1") for hit in hits})
        for place, hits in found(mode, variant)["memory"].items()
    }

    assert hits == {}


def test_the_search_would_find_what_is_there(mode: str) -> None:
    with shared_keeper(mode).connect() as keeper, keeper.create() as session:
        session.run("x = 'needle' + '-in-hay'")
        report = told(attack(session, "secrets", PATTERNS=unlike_itself("needle-in-hay")))

    assert report["memory"]


def test_the_environment_is_made_from_nothing(mode: str) -> None:
    environment = found(mode)["environment"]

    assert set(environment) <= ENVIRONMENT
    assert (environment["HOME"], environment["USER"]) == ("/home/sandbox", "sandbox")


def test_proc_tells_nothing_of_the_host(mode: str) -> None:
    report = found(mode)
    text = repr(report["processes"])

    assert report["processes"]
    for secret in (SECRET_PREFIX, str(REPOSITORY), shared_keeper(mode).directory, "vitrine-test-"):
        assert secret not in text
    assert all(name.partition("/")[0] != "1" for name in report["processes"])


def test_the_mount_table_shows_no_path_of_the_host(mode: str) -> None:
    mounts = found(mode)["mounts"].splitlines()

    assert len(mounts) > 5
    for line in mounts:
        before, _, after = line.partition(" - ")
        root, target = before.split()[3:5]
        kind, source, options = after.split()
        assert kind in ("overlay", "proc", "tmpfs", "devpts", "devtmpfs"), line
        assert source in (kind, "overlay", "scratch", "display", "proc", "devpts", "none"), line
        assert root in ("/", "/sys", "/home", "/shm", "/tmp") or kind == "devtmpfs", line
        assert "lowerdir=/" not in options and "upperdir" not in options, line
        assert not target.startswith(("/mnt", "/run")), line


def test_the_cgroup_is_shown_as_a_root(mode: str) -> None:
    paths = {line.split(":", 2)[2] for line in found(mode)["groups"]}

    assert paths and paths <= {"/", "/w"}  # w: all of a session but its init


def test_host_name_and_users_are_the_sandboxs_own(mode: str) -> None:
    report = found(mode)

    assert set(report["hostname"]) == {"sandbox"}
    assert report["users"] == ["nobody", "root", "sandbox"]
    assert report["ids"] == [1000, 1000, [], None]
    assert report["directory"] == "/home/sandbox"


def test_files_of_proc_that_tell_about_the_host_are_masked(mode: str) -> None:
    report = found(mode)

    assert report["masked"]
    for name, text in report["masked"].items():
        assert text in ("", "No such file or directory", "Permission denied"), name
    assert report["kernel_command_line"] == ""
    assert "sys" not in report["listing"]
