# SPDX-License-Identifier: Apache-2.0
"""The attack corpus from inside a session, as root and as an ordinary user.

The scripts in victims/ try everything once per mode and report; each test reads its part. Names in
brackets are those of the corpus.
"""

from __future__ import annotations

import functools
import os
import socket
from typing import Any

import pytest
from attacks import attack, told
from engine_keepers import REPOSITORY, both_modes, shared_keeper

pytestmark = both_modes


@functools.cache
def found(mode: str, name: str) -> dict[str, Any]:
    with shared_keeper(mode).connect() as keeper, keeper.create("loaded") as session:
        report = told(attack(session, name, HOST_FILE=str(REPOSITORY / "README.md")))
        assert session.run("6 * 7").texts == ["42"]
        return report


def every(values: Any) -> set[Any]:
    """What came of each attempt, of which there must have been one."""
    assert values, "nothing was tried"
    return set(values.values() if isinstance(values, dict) else values)


# --- File system ---------------------------------------------------------------------------------


def test_no_file_of_the_host_can_be_read(mode: str) -> None:
    """[F01, F03]"""
    assert every(found(mode, "filesystem")["host"]) <= {"ENOENT", "EACCES"}


def test_nothing_can_be_written_outside_the_scratch_space(mode: str) -> None:
    """[F02]"""
    report = found(mode, "filesystem")

    assert every(report["writes"]) <= {"EROFS", "EACCES"}
    assert every(report["scratch"]) == {"opened"}


def test_the_worker_holds_only_its_own_descriptors(mode: str) -> None:
    """[F04]"""
    descriptors = found(mode, "filesystem")["descriptors"]

    # 60 and 61 are the runtime's copies of 1 and 2.
    spare = set(descriptors) - {"0", "1", "2", "3", "1023"}
    assert {"0", "1", "2", "1023"} <= set(descriptors)
    assert all(descriptors[number] == "pipe" for number in spare) and len(spare) <= 2
    assert descriptors["0"] == "/dev/null" and descriptors["1023"] == "socket"


def test_no_descriptor_leads_out_of_the_root(mode: str) -> None:
    """[F05]"""
    assert found(mode, "filesystem")["escapes"] == []


def test_the_interpreter_cannot_be_overwritten(mode: str) -> None:
    """[F06]"""
    assert every(found(mode, "filesystem")["own_program"]) <= {"EACCES", "ETXTBSY", "EROFS"}


def test_no_device_can_be_made(mode: str) -> None:
    """[F07]"""
    assert every(found(mode, "filesystem")["nodes"]) <= {"EPERM", "EACCES"}


def test_file_handles_are_refused(mode: str) -> None:
    """[F08]"""
    assert found(mode, "filesystem")["shocker"] == ["EPERM", "EPERM"]


def test_nothing_can_be_mounted(mode: str) -> None:
    """[F09]"""
    assert every(found(mode, "filesystem")["mounted"]) == {"EPERM"}


def test_the_image_gives_no_privilege(mode: str) -> None:
    """[F18]"""
    report = found(mode, "filesystem")

    assert (report["setuid"], report["capabilities"]) == ([], [])
    assert found(mode, "kernel")["root"]["no_new_privs"] == "1"


def test_files_of_the_image_cannot_be_changed(mode: str) -> None:
    """[F23]"""
    assert every(found(mode, "filesystem")["image"]) <= {"EROFS", "EXDEV", "EACCES", "EPERM"}


def test_programs_run_from_home_and_tmp_but_not_from_shared_memory(mode: str) -> None:
    places = found(mode, "filesystem")["run_from"]

    assert (places["/tmp"], places["/home/sandbox"]) == (0, 0)
    assert places["/dev/shm"] != 0


def test_the_kernels_settings_are_read_only(mode: str) -> None:
    report = found(mode, "filesystem")

    assert every(report["proc_sys"]) <= {"EROFS", "EACCES"}
    assert report["sysrq"] in ("EACCES", "EROFS", "ENOENT")


# --- Processes -----------------------------------------------------------------------------------


def test_init_cannot_be_killed_or_stopped(mode: str) -> None:
    """[P04]"""
    report = found(mode, "processes")

    assert every(report["kill_init"]) <= {"EPERM", None}
    assert report["kill_all"] in (None, "ESRCH", "EPERM")


def test_only_processes_of_the_session_are_seen(mode: str) -> None:
    report = found(mode, "processes")

    assert report["visible"] == [2]
    assert (report["own_pid"], report["parent"]) == (2, 0)


def test_other_processes_cannot_be_read_or_traced(mode: str) -> None:
    """[P06]"""
    report = found(mode, "processes")

    assert every(report["trace_init"]) == every(report["trace_child"]) == {"EPERM"}
    assert every(report["memory_of_init"]) <= {"ENOENT", "EACCES", "EPERM"}


def test_no_descriptor_can_be_stolen(mode: str) -> None:
    """[P07]"""
    report = found(mode, "processes")

    assert report["steal_from_child"] == ["EPERM"] * 3
    assert report["steal_from_init"] in (["EPERM"] * 3, "EPERM", "ESRCH")


def test_limits_cannot_be_raised(mode: str) -> None:
    """[P15]"""
    report = found(mode, "processes")

    assert "raised" not in every(report["raise_limits"])
    assert (report["nice"], report["realtime"]) == ("EACCES", "EPERM")


def test_the_oom_killer_cannot_be_turned_away(mode: str) -> None:
    """[P15]"""
    report = found(mode, "processes")

    assert report["oom_score"] == "1000"
    assert every(report["lower_oom_score"]) <= {"EACCES", "EPERM"}


# --- Kernel surface ------------------------------------------------------------------------------

REFUSALS = [
    ("K01", "io_uring", {"EPERM"}),
    ("K02", "unshare", {"EPERM"}),
    ("K02", "clone", {"EPERM"}),
    ("K02", "clone_parent", {"EPERM"}),
    ("K02", "setns", {"EPERM"}),
    ("K03", "clone3", {"ENOSYS"}),
    ("K04", "mount_api", {"ENOSYS"}),
    ("K05", "programs", {"EPERM"}),
    ("K05", "userfaultfd", {"EPERM"}),
    ("K06", "keys", {"EPERM"}),
    ("K07", "families", {"EAFNOSUPPORT"}),
    ("K07", "families_high", {"EAFNOSUPPORT"}),
    ("K07", "netlink", {"EAFNOSUPPORT"}),
    ("K09", "socketcall", {"SIGSYS"}),
    ("K09", "int80", {"SIGSYS"}),
    ("K12", "personality", {"EPERM"}),
    ("K15", "listener", {"EPERM"}),
    ("K16", "page_cache", {"ENOSYS"}),
    ("K17", "devices", {"ENOENT"}),
    ("K18", "probing", {"EPERM", "ENOSYS"}),
    ("K19", "null_page", {"EPERM", "EACCES"}),
    ("K19", "modify_ldt", {"EPERM"}),
    ("K19", "set_mm", {"EPERM"}),
]


@pytest.mark.parametrize(("attack_name", "what", "answers"), REFUSALS)
def test_the_kernel_refuses(mode: str, attack_name: str, what: str, answers: set[str]) -> None:
    got = found(mode, "kernel")[what]

    assert every(got if isinstance(got, dict | list) else [got]) <= answers


def test_a_32_bit_program_does_not_run(mode: str) -> None:
    """[K09]"""
    assert found(mode, "kernel")["elf32"] in ("SIGSYS", 8)  # 8: a kernel that knows none (ENOEXEC)


def test_calls_of_the_x32_kind_do_not_work(mode: str) -> None:
    """[K14]"""
    assert found(mode, "kernel")["x32"] in ("SIGSYS", 0)


def test_a_terminal_takes_no_input_from_the_session(mode: str) -> None:
    """[K10, K11]"""
    calls = dict(found(mode, "kernel")["pty"])

    assert calls.pop("TIOCGWINSZ") == 8
    assert len(calls) == 8 and every(calls) == {"EPERM"}


def test_harmless_calls_work(mode: str) -> None:
    """[K03, K12, K15]"""
    report = found(mode, "kernel")

    assert report["usual"] == [None] * 3
    assert report["personality_query"] == 0
    assert report["own_filter"] == 0


def test_the_image_is_unchanged_after_the_attacks(mode: str) -> None:
    """[K16]"""
    assert found(mode, "kernel")["image_unchanged"] is True


def test_no_key_of_anybody_is_seen(mode: str) -> None:
    """[K06]"""
    assert found(mode, "kernel")["key_files"] == ["", ""]


def test_no_privilege_can_be_had(mode: str) -> None:
    """[K20]"""
    root = found(mode, "kernel")["root"]

    assert every(root["attempts"]) <= {"EPERM", "EINVAL"}
    assert every(root["sets"]) == {"0" * 16}


# --- Network -------------------------------------------------------------------------------------


@pytest.fixture
def network(mode: str) -> dict[str, Any]:
    name = f"vitrine-test-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(socket.AF_UNIX) as abstract,
        shared_keeper(mode).connect() as keeper,
        keeper.create() as session,
    ):
        abstract.bind("\0" + name)
        abstract.listen()
        port = str(listener.getsockname()[1])
        return told(attack(session, "network", HOST_PORT=port, HOST_ABSTRACT=name))


def test_no_network_is_reachable(network: dict[str, Any]) -> None:
    """[N01, N02, N09]"""
    assert network["interfaces"] == ["lo"]
    assert network["routes"] == network["routes6"] == []
    assert every(network["tcp"]) == every(network["udp"]) == {"ENETUNREACH"}
    assert network["tcp6"] in ("ENETUNREACH", "EADDRNOTAVAIL")
    assert network["host_loopback"] == network["abstract"] == "ECONNREFUSED"
    assert network["raw_icmp"] in ("EPERM", "EACCES")
    own = ["/tmp/.X11-unix/X99"]  # its display's
    assert [line.split()[-1] for line in network["unix_listed"]] == own
    assert every(network["names"]) == {"gaierror"}
    assert network["localhost"] in ("127.0.0.1", "::1")


def test_a_server_inside_is_not_reachable_from_the_host(mode: str) -> None:
    """[N10]"""
    with shared_keeper(mode).connect() as keeper, keeper.create() as session:
        ran = session.run(
            "import socket\ns = socket.create_server(('0.0.0.0', 0)); port = s.getsockname()[1]\n"
            "c = socket.create_connection(('127.0.0.1', port))\nport"
        )
        assert ran.outcome == "ok", ran.error

        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(ran.texts[0])), timeout=5)
