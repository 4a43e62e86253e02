# SPDX-License-Identifier: Apache-2.0
"""A clean end, and a start on old data or on none that can be used."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from served import Background, Server, Stream


def test_sigterm_lets_a_request_finish_and_leaves_nothing(
    start_server: Callable[..., Server],
) -> None:
    server = start_server()
    sessions = [server.create() for _ in range(3)]
    task = sessions[0].background("import time\nprint('a')\ntime.sleep(2)\n'end'")
    stream = Stream(sessions[1], "import time\nprint('a', flush=True)\ntime.sleep(2)\n'end'")
    assert stream.next()["type"] == "stdout"
    sessions[2].run(
        "import subprocess; p = subprocess.Popen(['sleep', '600'], start_new_session=True)"
    )

    verdict = server.stop()

    assert verdict == (0, []), server.read_log()
    answer = task.result()
    assert answer.status == 200
    assert answer.json["outcome"] == "ok"
    assert answer.json["results"] == [{"text/plain": "'end'"}]
    events = list(stream)
    assert events[-1]["type"] == "finished"
    assert events[-1]["execution"]["outcome"] == "ok"


def test_sigterm_does_not_wait_for_ever(stubborn_end: Background) -> None:
    assert stubborn_end.result() == (0, [])


def test_old_data_is_opened_and_old_sessions_are_ended(
    start_server: Callable[..., Server],
) -> None:
    first = start_server()
    session = first.create()
    done = session.run("print('kept')")["id"]
    task = session.background("import time; time.sleep(600)", timeout_s=500)
    token = first.token
    first.process.kill()  # the keeper itself, without a word
    first.process.wait()
    task.settle()

    second = start_server(directory=first.directory)

    assert second.token == token
    assert second.listed() == []
    unknown = second.get("/v1/sessions/" + "0" * 32).is_problem(404)
    assert second.get(session.path).is_problem(404).body == unknown.body
    second.get(f"{session.path}/executions/{done}").is_problem(404)
    fresh = second.create()
    assert fresh.value("1") == "1"
    second.kill_front()
    assert second.listed() == [fresh.id]
    assert second.stop() == (0, [])
    with contextlib.closing(sqlite3.connect(second.data / "vitrine.db")) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        tables = {
            name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        assert {"sessions", "executions"} <= tables
        text = json.dumps(
            [list(map(str, row)) for row in store.execute("SELECT * FROM executions")]
        )
        assert done in text and "kept" in text
        assert "running" not in {
            state for (state,) in store.execute("SELECT state FROM executions")
        }


@pytest.mark.skipif(os.geteuid() != 0, reason="without root the front has no user id of its own")
def test_a_directory_that_the_front_cannot_reach_ends_the_start(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0o700)
    begin = time.monotonic()

    with pytest.raises(RuntimeError) as failure:
        start_server(directory=closed / "inner")

    assert "data directory" in str(failure.value) and "remedy" in str(failure.value)
    assert time.monotonic() - begin < 20


def test_a_front_that_never_starts_ends_the_start(start_server: Callable[..., Server]) -> None:
    """A database of a later version, for example: the reason is logged, and the keeper gives up."""
    first = start_server()
    first.stop()
    with sqlite3.connect(first.data / "vitrine.db") as database:
        database.execute("PRAGMA user_version=99")

    with pytest.raises(RuntimeError) as failure:
        start_server(directory=first.directory)

    assert "has version 99" in str(failure.value)
    assert "does not start" in str(failure.value)
