# SPDX-License-Identifier: Apache-2.0
"""Hostile clients: nonsense on a session's socket or on the control socket hurts nobody else."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct

import pytest
from client import Execution, Keeper, KeeperError, Session
from engine_keepers import KeeperProcess, both_modes, eventually

import wire

GOOD = wire.execute_payload("6 * 7")


def frame_with(**changes: int | bytes) -> bytes:
    """A good execute frame with some fields of its header changed."""
    fields: dict[str, int | bytes] = {
        "magic": wire.MAGIC,
        "version": wire.VERSION,
        "kind": wire.EXECUTE,
        "flags": 0,
        "zero": b"\0\0\0",
        "execution": 1,
        "sequence": 0,
        "length": len(GOOD),
    }
    fields.update(changes)
    return wire.HEADER.pack(*fields.values()) + GOOD


def execute_frame(payload: bytes) -> list[bytes]:
    return wire.frames(wire.EXECUTE, 1, payload)


TOO_LONG = wire.execute_payload("#" * (17 << 20))
BAD_HEADERS = {
    "one byte": [b"x"],
    "a header cut short": [frame_with()[:20]],
    "a wrong magic": [frame_with(magic=0x5457)],
    "an unknown version": [frame_with(version=2)],
    "an unknown type": [frame_with(kind=50)],
    "a type of the worker": [frame_with(kind=wire.FINISHED)],
    "an unknown flag": [frame_with(flags=64)],
    "a reserved byte": [frame_with(zero=b"\0\1\0")],
    "a length that lies": [frame_with(length=5)],
    "a huge length": [frame_with(length=0xFFFFFFFF)],
    "a payload cut short": [frame_with()[:-4]],
    "a rest without a beginning": [frame_with(flags=wire.REST)],
    "a wrong sequence": [frame_with(sequence=7)],
    "a datagram of 128 KiB": [frame_with() + bytes(128 * 1024)],
    "half a message": [wire.frame(wire.EXECUTE, 1, bytes(1000), 0, wire.MORE)],
    "a thousand bad frames": [b"nonsense"] * 1000,
}
BAD_EXECUTES = {
    "no payload": b"",
    "code that is no UTF-8": wire.execute_payload(b"'\xff\xfe'"),
    "lone surrogates": wire.execute_payload("'\ud800'".encode("utf-8", "surrogatepass")),
    "a length beyond the end": struct.pack("<I", 1 << 31) + b"1",
    "bytes left over": GOOD + b"x",
    "an unknown stdin mode": GOOD.replace(b"6 * 7\0", b"6 * 7\x09"),
    "a variable with an equals sign": wire.execute_payload("1", env={"A=B": "x"}),
    "a variable that loads programs": wire.execute_payload("1", env={"LD_PRELOAD": "x"}),
    "a variable with a null": wire.execute_payload("1", env={"A": "x\0y"}),
}


def answers_or_dies(session: Session, execution: Execution) -> None:
    try:
        session.wait(execution, limit=3)
    except TimeoutError:
        pytest.fail("the worker neither answers nor dies")


@both_modes
@pytest.mark.parametrize("name", BAD_HEADERS)
def test_a_session_outlives_or_ends_with_a_bad_frame(session: Session, name: str) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for datagram in BAD_HEADERS[name]:
            session.channel.send(datagram)
        session.execution = 1
        execution = session.begin("6 * 7")
        answers_or_dies(session, execution)
        assert execution.texts == ["42"] or execution.death is not None
        return
    assert eventually(session.is_dead), "it hung up and lives"


@both_modes
@pytest.mark.parametrize("name", BAD_EXECUTES)
def test_an_execution_that_cannot_be_read_is_answered_or_ends_the_worker(
    session: Session, name: str
) -> None:
    for datagram in execute_frame(BAD_EXECUTES[name]):
        session.channel.send(datagram)
    execution = Execution(1)

    answers_or_dies(session, execution)

    assert execution.texts == [], "it was run"


def test_code_with_a_null_byte_is_an_exception(session: Session) -> None:
    ran = session.run("x = 1\0")

    assert ran.outcome == "exception"
    assert ran.error is not None and ran.error["name"] in ("SyntaxError", "ValueError")


def test_code_that_is_too_long_is_refused_before_it_is_sent(session: Session) -> None:
    with pytest.raises(ValueError, match="too long"):
        session.begin("#" * (17 << 20))

    session.execution = 0
    assert session.run("1").texts == ["1"]


def test_code_just_short_enough_runs(session: Session) -> None:
    room = wire.MAX_MESSAGE[wire.EXECUTE] - len(wire.execute_payload(""))

    assert session.run("#" * room).outcome == "ok"


@both_modes
def test_a_message_that_is_too_long_anyway_hurts_nobody_else(
    process: KeeperProcess, keeper: Keeper
) -> None:
    session, neighbour = keeper.create(), keeper.create()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for sequence, at in enumerate(range(0, len(TOO_LONG), wire.MAX_PAYLOAD)):
            part = TOO_LONG[at : at + wire.MAX_PAYLOAD]
            flags = (wire.REST if at else 0) | wire.MORE
            session.channel.send(wire.frame(wire.EXECUTE, 1, part, sequence, flags))
        session.execution = 1
        execution = session.begin("6 * 7")
        answers_or_dies(session, execution)

    assert neighbour.run("1").texts == ["1"]


# --- The control socket --------------------------------------------------------------------------


def create(kind: bytes = b"\1\0", limits: bytes = wire.Limits().encode()) -> bytes:
    """A whole request, which the keeper takes if nothing in it is wrong."""
    return struct.pack("<BI", wire.CREATE, 1) + kind + limits + wire.unadorned()


BAD_REQUESTS = {
    "garbage": os.urandom(100),
    "nothing but a verb": b"\0",
    "a verb that does not exist": struct.pack("<BI", 200, 1),
    "a create cut short": create()[:-1],
    "a create with more": create() + b"\0",
    "an unknown variant": create(kind=b"\x63\0"),
    "a time beyond all": create(limits=b"\xff" * 48),
    "60 KiB": struct.pack("<BI", wire.LIST, 1) + bytes(60 * 1024),
    "more than a packet": bytes(100 * 1024),
    "an empty packet": b"",
}


@both_modes
@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_a_malformed_request_ends_its_connection_alone(
    process: KeeperProcess, keeper: Keeper, name: str
) -> None:
    with process.connect() as hostile:
        hostile.socket.send(BAD_REQUESTS[name])
        with contextlib.suppress(ConnectionResetError):
            assert hostile.socket.recv(1 << 16) == b""

    assert keeper.info()["sessions"] == 0
    assert keeper.create().run("1").texts == ["1"]


def test_the_request_that_others_are_made_of_is_taken(process: KeeperProcess) -> None:
    with process.connect() as honest:
        honest.socket.send(create())
        honest.number = 1

        reader, fds = honest.finish(1)

        Session(honest, wire.opened(reader, fds)).end()


@both_modes
def test_every_verb_says_that_a_session_is_unknown(keeper: Keeper) -> None:
    for verb, numbers in (
        (wire.END, 1),
        (wire.INTERRUPT, 2),
        (wire.ASK_STACK, 2),
        (wire.WATCH, 3),
        (wire.UNWATCH, 2),
        (wire.KILL, 1),
        (wire.ATTACH, 1),
        (wire.ASK_USAGE, 1),
    ):
        for session in (0, 1 << 40, (1 << 64) - 1):
            with pytest.raises(KeeperError) as refused:
                keeper.call(verb, struct.pack(f"<{numbers}Q", session, *([1] * (numbers - 1))))
            assert (refused.value.code, bool(refused.value.remedy)) == ("not_found", True)
    with pytest.raises(KeeperError) as refused:
        keeper.call(wire.RESET, struct.pack("<QB", 1 << 40, 0))
    assert refused.value.code == "not_found"


def test_descriptors_sent_along_are_dropped(process: KeeperProcess, keeper: Keeper) -> None:
    before = process.descriptors()
    for count in (1, 16, 200):
        with process.connect() as hostile, contextlib.suppress(OSError):
            request = struct.pack("<BI", wire.INFO, 1)
            socket.send_fds(hostile.socket, [request], [0] * count)
            hostile.socket.recv(1 << 16)

    keeper.info()
    assert process.descriptors() < before + 100


@both_modes
def test_a_thousand_connections_do_not_shut_out_the_others(
    process: KeeperProcess, keeper: Keeper
) -> None:
    session = keeper.create()
    crowd = []
    try:
        for _ in range(1000):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            one.settimeout(5)
            with contextlib.suppress(OSError):
                one.connect(process.path)
            crowd.append(one)
        assert session.run("1").texts == ["1"]
        assert keeper.create().run("2").texts == ["2"]
    finally:
        for one in crowd:
            one.close()

    with process.connect() as late:
        assert late.create().run("3").texts == ["3"]


@both_modes
def test_a_client_that_never_reads_is_not_read_from(process: KeeperProcess, keeper: Keeper) -> None:
    session = keeper.create()
    before = process.resident_kib()
    with process.connect() as deaf:
        deaf.socket.settimeout(3)
        with pytest.raises(TimeoutError):
            while True:
                deaf.start(wire.INFO)

        assert session.run("1").texts == ["1"]
        assert deaf.number < 10_000
        for number in range(1, deaf.number):  # it has lost nothing, and is listened to again
            deaf.finish(number)
        deaf.finish(deaf.start(wire.INFO))
    assert process.resident_kib() - before < 32 * 1024


@both_modes
def test_descriptors_for_clients_that_never_read_do_not_use_up_the_keepers(
    process: KeeperProcess, keeper: Keeper
) -> None:
    session = keeper.create()
    request = struct.pack("<BIQ", wire.ATTACH, 1, session.id)
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            deaf = stack.enter_context(process.connect())
            deaf.socket.settimeout(1)
            with contextlib.suppress(OSError):
                for _ in range(4000):
                    deaf.socket.send(request)
        keeper.info()

        assert process.descriptors() < 2000
        assert keeper.create().run("1").texts == ["1"]


def test_requests_without_a_number_are_done_and_not_answered(keeper: Keeper) -> None:
    session = keeper.create()

    keeper.post(wire.END, struct.pack("<Q", session.id))

    assert session.id not in keeper.list()
    assert keeper.replies == {}


@both_modes
def test_a_session_that_is_ended_while_it_is_made_or_reset_ends(keeper: Keeper, mode: str) -> None:
    session = keeper.create()
    body = struct.pack("<Q", session.id)
    keep = int(mode == "root")

    reset = keeper.start(wire.RESET, body + bytes([keep]))
    end = keeper.start(wire.END, body)

    keeper.socket.settimeout(15)
    with contextlib.suppress(KeeperError):
        keeper.finish(reset)
    keeper.finish(end)
    assert session.id not in keeper.list()


@both_modes
def test_a_session_whose_client_left_before_it_was_made_is_ended(
    process: KeeperProcess, keeper: Keeper
) -> None:
    info = keeper.info()
    makers = [info["builder"], *(zygote["pid"] for zygote in info["zygotes"])]
    unusual = wire.Limits(memory_bytes=64 << 20, disk_bytes=64 << 20)  # no worker waits for it
    for pid in makers:
        os.kill(pid, signal.SIGSTOP)
    try:
        with process.connect() as hasty:
            hasty.start(wire.CREATE, b"\0\0" + unusual.encode() + wire.unadorned())
        assert eventually(lambda: keeper.info()["sessions"] == 1), "it is not being made"
    finally:
        for pid in makers:
            os.kill(pid, signal.SIGCONT)

    later = keeper.create()  # behind it in the same line
    assert eventually(lambda: set(keeper.list()) == {later.id})


@both_modes
def test_an_isolation_that_the_keeper_does_not_have_is_refused_by_name(keeper: Keeper) -> None:
    assert list(keeper.info()["isolations"]) == ["process"]

    with pytest.raises(KeeperError, match="`vm`") as refused:
        keeper.create(isolation="vm")

    assert refused.value.code == "unsupported"
    with keeper.create() as session:
        assert session.run("1").texts == ["1"]
