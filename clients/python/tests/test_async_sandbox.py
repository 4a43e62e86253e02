# SPDX-License-Identifier: Apache-2.0
"""The asynchronous client against a real server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import vitrine
from vitrine import AsyncSandbox
from vitrine.transport import _shared_async


async def test_state_stays_and_the_session_ends() -> None:
    async with AsyncSandbox(name="a") as box:
        await box.run("x = 20")
        assert (await box.run("x + 22")).value == 42
        assert (await box.info()).name == "a"
        session = box.id

    with pytest.raises(vitrine.NotFound):
        await AsyncSandbox.attach(session)
    assert not _shared_async, "connections were left open"


async def test_many_at_once() -> None:
    async def one(number: int) -> int:
        async with AsyncSandbox() as box:
            return int((await box.run(f"{number} * 2")).value)

    assert await asyncio.gather(*map(one, range(20))) == [2 * number for number in range(20)]


async def test_streams_and_callbacks() -> None:
    async with AsyncSandbox() as box:
        seen: list[str] = []
        result = await box.run("print(1)", on_stdout=seen.append)
        types = [event.type async for event in box.stream("print(2)\n3")]

    assert seen == ["1\n"] and result.stdout == "1\n"
    assert types == ["stdout", "result", "finished"]


async def test_a_cancelled_run_interrupts_the_code() -> None:
    async with AsyncSandbox() as box:
        begun = asyncio.Event()
        code = "import time\nprint('go', flush=True)\ntime.sleep(60)"
        task = asyncio.create_task(box.run(code, on_stdout=lambda _: begun.set()))
        await asyncio.wait_for(begun.wait(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert (await asyncio.wait_for(box.run("1"), 20)).value == 1
        assert [past.result.outcome for past in await box.history() if past.result] == [
            "ok",
            "interrupted",
        ]


async def test_interrupt_stack_and_reset() -> None:
    async with AsyncSandbox() as box:
        begun = asyncio.Event()
        code = "import time\nprint('go', flush=True)\ntime.sleep(60)"
        task = asyncio.create_task(box.run(code, on_stdout=lambda _: begun.set()))
        await asyncio.wait_for(begun.wait(), 20)
        assert (await box.stack()).running
        await box.interrupt()
        assert (await task).outcome == "interrupted"
        await box.run("x = 1")
        await box.reset(files="keep")
        assert (await box.run("'x' in globals()")).value is False


async def test_files(tmp_path: Path) -> None:
    (tmp_path / "in.bin").write_bytes(b"\x00\x01" * 100_000)
    async with AsyncSandbox() as box:
        await box.files.write("a/b.txt", "hi")
        await box.files.upload(tmp_path / "in.bin")
        assert await box.files.read_text("a/b.txt") == "hi"
        assert {one.name for one in await box.files.list()} == {"a", "in.bin"}
        await box.files.download("in.bin", tmp_path / "out.bin")
        await box.files.download_directory("", tmp_path / "all")
        await box.files.upload_directory(tmp_path / "all", "again")
        assert await box.files.read_text("again/a/b.txt") == "hi"
        await box.files.delete("a")
        with pytest.raises(vitrine.NotFound):
            await box.files.read("a/b.txt")

    assert (tmp_path / "out.bin").read_bytes() == (tmp_path / "in.bin").read_bytes()
    assert (tmp_path / "all/a/b.txt").read_text() == "hi"


async def test_attach_detach_and_one_shots() -> None:
    box = await AsyncSandbox.create()
    await box.run("x = 1")
    session = box.detach()
    await box.close()
    async with await AsyncSandbox.attach(session) as again:
        assert (await again.run("x")).value == 1
        await again.end()

    assert (await AsyncSandbox.run("6 * 7")).value == 42
    assert (await vitrine.run_async("6 * 7")).value == 42


async def test_not_open_is_explained() -> None:
    with pytest.raises(vitrine.VitrineError, match="async with"):
        await AsyncSandbox().run("1")


def test_each_loop_has_its_own_connections() -> None:
    for _ in range(2):
        assert asyncio.run(vitrine.run_async("1")).value == 1
