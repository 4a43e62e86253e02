# SPDX-License-Identifier: Apache-2.0
"""Workers that lie to the front: session code speaks on the session socket itself. What becomes of
it is in docs/session-socket.md; whatever it is, it becomes of that session alone."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hostile_attacks import HealthCheck
from sanitizer_marks import judges_memory
from served import Background, Server, Session, Stream, until

# As far from our own code as session code can be. In a fresh session it is execution 1.
FORGE = r"""
import itertools, os, socket, struct, time
s = socket.socket(fileno=os.dup(1023))
OK = b'\0\0'
def frame(kind, payload=b'', execution=2, sequence=0, flags=0, magic=0x5456, length=None, version=1):
    length = len(payload) if length is None else length
    return struct.pack('<HBBB3xQII', magic, version, kind, flags, execution, sequence, length) + payload
counter = itertools.count()
def say(kind, payload=b'', execution=2):
    parts = [payload[i:i + 65512] for i in range(0, len(payload), 65512)] or [b'']
    for i, part in enumerate(parts):
        flags = (1 if i + 1 < len(parts) else 0) | (2 if i else 0)
        s.send(frame(kind, part, execution, next(counter), flags))
def text(data):
    return struct.pack('<I', len(data)) + data
def result(data=b'', metadata=b'{}', kind=1, display=b''):
    entries = struct.pack('<H', 1) + text(b'text/plain') + text(data) if data else struct.pack('<H', 0)
    return bytes([kind]) + text(display) + entries + text(metadata)
def error(size):
    return text(b'E') + text(b'x' * size) + text(b'')
"""
FINISHED, RESULT, ERROR, NOTE, INPUT, STACK, READY = 70, 65, 66, 67, 68, 69, 64


@pytest.fixture
def liar(victim: Server) -> Iterator[Session]:
    session = victim.create(limits={"memory_mb": 256, "exec_timeout_s": 20})
    assert session.run(FORGE)["outcome"] == "ok"
    yield session
    session.delete()


def is_dead(session: Session) -> bool:
    return bool(session.show()["state"] == "dead")


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("s.send(b'')", id="nothing"),
        pytest.param("s.send(b'x')", id="one byte"),
        pytest.param("s.send(b'\\0' * 65536)", id="zeros"),
        pytest.param("s.send(frame(70, OK)[:23])", id="cut header"),
        pytest.param("s.send(frame(70, OK, magic=1))", id="magic"),
        pytest.param("s.send(frame(70, OK, version=2))", id="version"),
        pytest.param("s.send(frame(70, OK, length=0xFFFFFFFF))", id="length too large"),
        pytest.param("s.send(frame(70, OK, length=1))", id="length too small"),
        pytest.param("s.send(frame(99))", id="unknown type"),
        pytest.param("s.send(frame(0))", id="type 0"),
        pytest.param("s.send(frame(2, OK))", id="a client's type"),
        pytest.param("s.send(frame(70, OK, flags=128))", id="unknown flag"),
        pytest.param("s.send(frame(70, b''))", id="finished, empty"),
        pytest.param("s.send(frame(70, b'\\x09\\0'))", id="finished, unknown claim"),
        pytest.param("s.send(frame(70, OK + b'x'))", id="finished, too long"),
        pytest.param("s.send(frame(70, OK, sequence=5))", id="sequence ahead"),
        pytest.param("say(67, b'a'); s.send(frame(67, b'b'))", id="sequence back"),
        pytest.param("s.send(frame(70, OK, execution=1))", id="an earlier execution"),
        pytest.param("s.send(frame(70, OK, execution=77))", id="a later execution"),
        pytest.param("s.send(frame(67, b'x', execution=1 << 63))", id="an absurd execution"),
        pytest.param("s.send(frame(65, b'\\xff' * 100))", id="result, noise"),
        pytest.param("s.send(frame(65, result(b'x', kind=9)))", id="result, unknown kind"),
        pytest.param("s.send(frame(65, result(b'x', metadata=b'\\xff')))", id="metadata, no UTF-8"),
        pytest.param("s.send(frame(66, text(b'\\xff') + text(b'') + text(b'')))", id="error, UTF-8"),
        pytest.param("s.send(frame(67, b'\\xed\\xa0\\x80'))", id="note, a surrogate"),
        pytest.param("s.send(frame(68, text(b'\\xff') + b'\\0'))", id="input, no UTF-8"),
        pytest.param("s.send(frame(65, b'x', flags=2))", id="rest of nothing"),
        pytest.param("s.send(frame(67, b'x', flags=1)); s.send(frame(66, b'x', sequence=1, flags=2))", id="mixed types"),
        pytest.param("s.send(frame(67, b'x', flags=1)); s.send(frame(67, b'x', execution=3))", id="mixed executions"),
        pytest.param("s.send(frame(69, b'x', flags=1))", id="stack in parts"),
        pytest.param("s.send(frame(72, b'abcd', flags=2))", id="line in parts"),
        pytest.param("s.send(frame(72, b'abc'))", id="line, too short"),
        pytest.param("s.send(frame(72, b'abcde'))", id="line, too long"),
        pytest.param("s.send(frame(64, text(b'3.11') + struct.pack('<QQ', 2, 0)))", id="ready unasked"),
        pytest.param("s.send(frame(64, text(b'3.11') + b'\\xff' * 16))", id="ready, absurd"),
        pytest.param("s.send(frame(64, text(b'3.11') + struct.pack('<QQ', 2, 7), flags=4))", id="ready, as replay"),
        pytest.param("say(66, error(1)); say(66, error(1))", id="two errors"),
        pytest.param("s.setsockopt(1, 7, 1 << 20); s.send(b'x' * 100_000)", id="too large"),
        pytest.param("s.shutdown(2)", id="shut down"),
        pytest.param("n = 0\nwhile True:\n    s.send(frame(65, bytes(65000), sequence=n, flags=3 if n else 1)); n += 1", id="endless"),
    ],
)  # fmt: skip
def test_a_worker_that_breaks_the_protocol_is_ended(
    victim: Server, liar: Session, code: str
) -> None:
    before = victim.resident_kb()

    answer = liar.exec(
        f"try:\n    {code.replace(chr(10), chr(10) + '    ')}\nexcept OSError: pass\ntime.sleep(15)"
    )

    assert answer.status == 200 and answer.json["outcome"] == "crashed", answer
    assert answer.json["state_kept"] is False
    assert answer.json["usage"]["wall_ms"] < 8_000
    assert is_dead(liar)
    liar.exec("1").is_problem(410, "session_dead")
    assert victim.resident_kb() - before < 80 * 1024
    assert liar.call("POST", "/reset").status == 200
    assert liar.value("6 * 7") == "42"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("for n in range(2000): s.send(frame(69, b'x' * 1000))", id="stacks unasked"),
        pytest.param("s.send(frame(69, b'\\xff\\xfe'))", id="stack, no UTF-8"),
        pytest.param("s.send(frame(69, b'x', execution=1 << 60, sequence=7))", id="stack, absurd"),
    ],
)
def test_stacks_that_nobody_asked_for_are_ignored(liar: Session, code: str) -> None:
    assert liar.run(code + "\nprint('alive')")["stdout"] == "alive\n"
    assert liar.value("6 * 7") == "42"


def test_who_says_finished_is_finished_once(liar: Session) -> None:
    code = (
        "say(70, OK); time.sleep(0.5)\nfor _ in range(100): say(70, b'\\x01\\x07')\ntime.sleep(15)"
    )
    first = liar.run(code)

    assert (first["outcome"], first["exit_code"]) == ("ok", 0)
    assert [one["outcome"] for one in liar.history()] == ["ok", "ok"]
    # The next one never gets a word in: the worker is still at the first.
    assert liar.run("1", timeout_s=2)["outcome"] in ("crashed", "timeout")
    assert len(liar.history()) == 3


def test_the_exit_code_is_a_claim_and_the_death_is_not(liar: Session) -> None:
    ran = liar.run("say(70, OK); os._exit(9)")
    assert ran["outcome"] in ("ok", "crashed")
    assert until(lambda: is_dead(liar), 10)


def test_a_worker_that_closes_its_socket_and_goes_on_is_ended(liar: Session) -> None:
    ran = liar.run("s.close(); os.close(1023)\nwhile True: pass")

    assert ran["outcome"] == "crashed" and ran["usage"]["wall_ms"] < 5_000, ran


def test_descriptors_are_not_taken(liar: Session, health_check: HealthCheck) -> None:
    ran = liar.run(
        "try: socket.send_fds(s, [frame(67, b'x')], [0] * 200)\n"
        "except OSError as error: print('refused', error.errno)\n"
        "else: time.sleep(15)"
    )

    assert ran["outcome"] == "crashed" or ran["stdout"].startswith("refused"), ran


@judges_memory
@pytest.mark.parametrize(
    "flood",
    [
        pytest.param("for n in range(40000): say(67, b'n' * 4096)", id="notes"),
        pytest.param("for n in range(2000): say(68, text(b'p' * 60000) + b'\\0')", id="inputs"),
        pytest.param("for n in range(12): say(65, result(metadata=b'm' * (30 << 20)))", id="metadata"),
        pytest.param("for n in range(300000): say(65, result(kind=3))", id="clears"),
        pytest.param("for n in range(100000): say(65, result(b'x', display=b'%0200d' % n))", id="displays"),
        pytest.param("for n in range(100): say(65, result(b'x' * (1 << 20)))", id="results"),
        pytest.param("for n in range(60): say(66, error(1000000))", id="errors"),
        pytest.param("for n in range(300000): say(71, b'')", id="painted"),
    ],
)  # fmt: skip
def test_floods_do_not_fill_the_front(victim: Server, liar: Session, flood: str) -> None:
    before = victim.resident_kb()
    highest = before

    task = Background(lambda: liar.exec(f"{flood}\nsay(70, OK)\ntime.sleep(15)"))
    while not task.is_over():
        begun = time.monotonic()
        highest = max(highest, victim.resident_kb())
        assert time.monotonic() - begun < 3, "the others wait"
        time.sleep(0.05)

    answer = task.result()
    assert answer.status == 200 and answer.json["outcome"] in ("ok", "crashed", "timeout"), answer
    assert len(answer.json["notes"]) <= 70
    assert highest - before < 160 * 1024, f"{highest - before} KiB"


@pytest.mark.serial
def test_a_flood_of_frames_leaves_the_others_their_turn(liar: Session, neighbour: Session) -> None:
    flood = (
        "for _ in range(3):\n"
        "    if os.fork() == 0:\n"
        "        end = time.monotonic() + 3\n"
        "        data = frame(69, b'')\n"
        "        while time.monotonic() < end:\n"
        "            try: s.send(data)\n"
        "            except OSError: break\n"
        "        os._exit(0)\n"
        "time.sleep(3)"
    )
    task = Background(lambda: liar.exec(flood))
    longest = 0.0
    while not task.is_over():
        begun = time.monotonic()
        assert neighbour.value("mark") == "'still here'"
        longest = max(longest, time.monotonic() - begun)

    assert longest < 2, f"{longest:.2f} s"


def test_a_worker_that_does_not_read_holds_up_nobody(liar: Session, neighbour: Session) -> None:
    busy = liar.background("time.sleep(1)")
    waiting = [Background(lambda: liar.exec("#" + "x" * (2 << 20))) for _ in range(6)]

    for _ in range(10):
        assert neighbour.value("mark") == "'still here'"

    assert busy.result().json["outcome"] == "ok"
    assert {task.result().json["outcome"] for task in waiting} == {"ok"}


@pytest.mark.serial
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_output_byte_by_byte_costs_little_more_than_its_bytes(
    victim: Server, liar: Session, streamed: bool
) -> None:
    before = victim.resident_kb()
    code = (  # the next one when the one before was read
        "import fcntl, termios\nend = time.monotonic() + 1\nwhile time.monotonic() < end:\n"
        "    if fcntl.ioctl(1, termios.FIONREAD, b'1234') == b'\\0\\0\\0\\0': os.write(1, b'x')"
    )

    if streamed:
        stream = Stream(liar, code)
        text = "".join(one.get("text", "") for one in stream)
        stream.close()
    else:
        text = liar.run(code)["stdout"]

    assert len(text) > 200 and set(text) == {"x"}  # it is read at a pace
    assert victim.resident_kb() - before < 40 * 1024
