# SPDX-License-Identifier: Apache-2.0
"""Encoders that the keeper starts: they record a session's display, and end with what they serve."""

import os
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import client
import pytest
from engine_keepers import KeeperProcess

import wire

sys.path.append(str(Path(__file__).resolve().parents[1] / "screen"))

from encoder_client import ASKED, Recording, close_to, watch
from xvfb import until

BACKGROUND = (0x20, 0x24, 0x2B)


def record(keeper: client.Keeper, session: client.Session, film: Path) -> Recording:
    ident = struct.pack("<Q", session.id)
    shown, fds = keeper.call(wire.OPEN_DISPLAY, ident + b"\1")
    width, height = shown.number("I"), shown.number("I")
    started, (control,) = keeper.call(wire.START_ENCODER, ident)
    recording = Recording(socket.socket(fileno=control))
    recording.encoder = started.number("Q")
    recording.start(fds[0], film, width, height)
    for fd in fds:
        os.close(fd)
    return recording.wait_started()


def encoders(process: KeeperProcess) -> list[int]:
    return process.named("vitrine-encoder")


def test_a_sessions_display_is_recorded(
    process: KeeperProcess, keeper: client.Keeper, session: client.Session, tmp_path: Path
) -> None:
    recording = record(keeper, session, tmp_path / "film")
    (pid,) = encoders(process)
    status = Path(f"/proc/{pid}/status").read_text()
    recording.wait_progress(2)
    stopped = recording.stop()
    film = watch(tmp_path / "film")

    assert stopped.reason == ASKED
    assert close_to(film.pixel(-1, 500, 300), BACKGROUND)
    assert film.times[-1] >= 1.9
    assert "Seccomp:\t2" in status
    uid = int(status.split("Uid:\t")[1].split()[0])
    assert uid > 65536 or process.mode != "root", "an id of its own"
    until(lambda: not encoders(process), "it is gone")
    recording.close()


def test_it_ends_with_its_session_and_leaves_a_film(
    process: KeeperProcess, keeper: client.Keeper, session: client.Session, tmp_path: Path
) -> None:
    recording = record(keeper, session, tmp_path / "film")
    recording.wait_progress(1)

    keeper.call(wire.END, struct.pack("<Q", session.id))

    assert recording.wait_stopped().reason == ASKED
    assert watch(tmp_path / "film").frames
    until(lambda: not encoders(process), "it is gone")
    recording.close()


def test_it_ends_when_its_client_shuts_the_socket_down_and_leaves_a_film(
    process: KeeperProcess, keeper: client.Keeper, session: client.Session, tmp_path: Path
) -> None:
    recording = record(keeper, session, tmp_path / "film")
    recording.wait_progress(1)

    recording.socket.shutdown(socket.SHUT_RDWR)

    until(lambda: not encoders(process), "it is gone")
    assert watch(tmp_path / "film").frames
    recording.close()


def test_it_outlives_its_client_and_the_next_one_takes_it_over(
    process: KeeperProcess, keeper: client.Keeper, session: client.Session, tmp_path: Path
) -> None:
    with process.connect() as doomed:
        recording = record(doomed, session, tmp_path / "film")
        recording.wait_progress(1)
        recording.close()

    _, (control,) = keeper.call(wire.ATTACH_ENCODER, struct.pack("<Q", recording.encoder))
    taken = Recording(socket.socket(fileno=control))

    taken.wait_progress(3)
    assert taken.stop().reason == ASKED
    assert watch(tmp_path / "film").times[-1] >= 2.9, "a second is missing"
    with pytest.raises(client.KeeperError, match="no such encoder"):
        keeper.call(wire.ATTACH_ENCODER, struct.pack("<Q", recording.encoder + 1))
    taken.close()


def test_it_ends_with_the_keeper(
    start_keeper: Callable[..., KeeperProcess], tmp_path: Path
) -> None:
    process = start_keeper()
    with process.connect() as keeper:
        recording = record(keeper, keeper.create(), tmp_path / "film")
        (pid,) = encoders(process)

        process.kill()

        until(lambda: not Path(f"/proc/{pid}").exists(), "it is gone")
        recording.close()


def test_there_are_not_too_many_and_only_of_sessions(
    process: KeeperProcess, keeper: client.Keeper, session: client.Session
) -> None:
    with pytest.raises(client.KeeperError, match="no such session"):
        keeper.call(wire.START_ENCODER, struct.pack("<Q", 1 << 40))
    sockets = []
    with pytest.raises(client.KeeperError, match="too many") as refused:
        for _ in range(17):
            _, fds = keeper.call(wire.START_ENCODER, struct.pack("<Q", session.id))
            sockets += fds

    assert len(sockets) == 16
    assert refused.value.code == "over_limit"
    for fd in sockets:
        with socket.socket(fileno=fd) as one:
            one.shutdown(socket.SHUT_RDWR)
    until(lambda: not encoders(process), "all are gone")
