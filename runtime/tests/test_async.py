# SPDX-License-Identifier: Apache-2.0
"""Top-level await and its event loop."""

from __future__ import annotations

from sessions import Session


def test_top_level_await(session: Session) -> None:
    done = session.run(
        "import asyncio\nx = await asyncio.sleep(0, 5)\nx + await asyncio.sleep(0, 1)"
    )

    assert done.value == "6"


def test_async_for_with_and_comprehensions(session: Session) -> None:
    done = session.run(
        "import contextlib\n"
        "async def gen():\n    for i in range(3): yield i\n"
        "@contextlib.asynccontextmanager\nasync def ctx():\n    yield 10\n"
        "out = []\n"
        "async for i in gen(): out.append(i)\n"
        "async with ctx() as c: out.append(c)\n"
        "out + [i async for i in gen()]"
    )

    assert done.value == "[0, 1, 2, 10, 0, 1, 2]"


def test_an_error_after_await(session: Session) -> None:
    done = session.run(
        "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    1 / 0\nawait f()"
    )

    frames = [line for line in done.traceback.splitlines() if line.startswith("  File")]
    assert frames == ['  File "<cell 1>", line 5, in <module>', '  File "<cell 1>", line 4, in f']


def test_background_tasks_survive_between_cells(session: Session) -> None:
    session.run(
        "import asyncio\nticks = 0\nasync def tick():\n    global ticks\n"
        "    while True:\n        ticks += 1\n        await asyncio.sleep(0.001)\n"
        "task = asyncio.create_task(tick())\nawait asyncio.sleep(0.01)"
    )
    session.run("before = ticks")

    assert (
        session.run("await asyncio.sleep(0.05)\nticks > before and not task.done()").value == "True"
    )
    assert session.run("task.cancel()\nawait asyncio.sleep(0)\ntask.cancelled()").value == "True"


def test_create_task_without_await(session: Session) -> None:
    session.run("import asyncio\nasync def f():\n    return 7\nt = asyncio.create_task(f())")

    assert session.run("await t").value == "7"


def test_one_loop_for_all_cells(session: Session) -> None:
    session.run(
        "import asyncio\nlock = asyncio.Lock()\nq = asyncio.Queue()\nawait q.put(1)\na = asyncio.get_running_loop()"
    )

    assert (
        session.run(
            "async with lock:\n    x = await q.get()\n(x, asyncio.get_running_loop() is a)"
        ).value
        == "(1, True)"
    )


def test_asyncio_run_in_a_cell(session: Session) -> None:
    code = "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 3\nasyncio.run(main())"

    assert session.run(code).value == "3"
    assert session.run("await main()").value == "3"
    assert session.run("asyncio.run(main())").value == "3"
    assert session.run("await main()").value == "3"
    assert session.run("asyncio.get_event_loop().run_until_complete(main())").value == "3"


def test_asyncio_run_below_await_is_an_error_with_advice(session: Session) -> None:
    done = session.run("import asyncio\nawait asyncio.sleep(0)\nasyncio.run(asyncio.sleep(0))")

    assert done.error is not None and done.error[0] == "RuntimeError"
    assert "await main()" in done.notes[0]


def test_an_interrupt_while_awaiting(session: Session) -> None:
    session.start(
        "import asyncio\nasync def f():\n    try:\n        print('waiting', flush=True)\n        await asyncio.sleep(60)\n"
        "    finally:\n        print('cleaned')\nawait f()"
    )
    import time

    time.sleep(0.3)
    session.interrupt()
    done = session.wait()

    assert (done.outcome, done.exit_code) == ("interrupted", 130)
    assert done.stdout == "waiting\ncleaned\n"
    assert "line 5, in f" in done.traceback and done.traceback.endswith("KeyboardInterrupt\n")
    assert session.run("await asyncio.sleep(0, 1)").value == "1"


def test_a_closed_loop_is_replaced(session: Session) -> None:
    session.run("import asyncio\nawait asyncio.sleep(0)")
    session.run("asyncio.get_event_loop().close()")

    assert session.run("await asyncio.sleep(0, 4)").value == "4"


def test_asyncio_subprocess(session: Session) -> None:
    done = session.run(
        "import asyncio\np = await asyncio.create_subprocess_exec('echo', 'hi', stdout=asyncio.subprocess.PIPE)\n"
        "(await p.communicate())[0]"
    )

    assert done.value == "b'hi\\n'"
