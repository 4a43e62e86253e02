# SPDX-License-Identifier: Apache-2.0
"""OpenEnv through its stock client: Vitrine beside OpenEnv's own server, in turns, in one run.

The client is OpenEnv's GenericEnvClient in one Python process; its own cost is part of every
number, for both. The peer isolates nothing: its reset makes an object, ours a sealed process.
`./dev bench openenv` builds what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from burst import Burst
from openenv.core import GenericEnvClient

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("VITRINE_BUILD", ROOT / "build" / "release")).resolve()
PARTS = ("episodes", "steps", "alive", "burst")
BURST = 512
CODE = {"code": "x = 1\nprint(x + 1)"}


def wait_until_healthy(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url + "/health", timeout=2):
            return
        time.sleep(0.1)
    raise SystemExit(f"bench: {process.args} does not answer")


@contextlib.contextmanager
def served(command: list[str], port: int) -> Iterator[tuple[str, int]]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_healthy(url, process)
        yield url, process.pid
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def at(share: float, samples: list[float]) -> float:
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def client(url: str) -> Any:
    # Many sockets at once take their time to open.
    return GenericEnvClient(base_url=url, connect_timeout_s=60)


async def episodes(url: str, count: int, pause: float) -> list[float]:
    """Seconds of a reset and a step, one client that thinks for `pause` seconds before each."""
    times = []
    async with client(url) as env:
        for _ in range(count + 5):
            await asyncio.sleep(pause)
            began = time.perf_counter()
            await env.reset()
            result = await env.step(CODE)
            times.append(time.perf_counter() - began)
            assert result.observation["stdout"].startswith("2"), result
    return times[5:]


async def opened(stack: contextlib.AsyncExitStack, url: str, count: int) -> list[Any]:
    """So many environments, reset, opened eight at a time: a crowd that arrives at one instant
    would measure the queue of the listening socket."""
    envs: list[Any] = []
    gate = asyncio.Semaphore(8)

    async def open_one() -> None:
        async with gate:
            env = await client(url).__aenter__()
            stack.push_async_exit(env)
            await env.reset()
            envs.append(env)

    await asyncio.gather(*(open_one() for _ in range(count)))
    return envs


async def steps_per_second(url: str, clients: int, seconds: float) -> tuple[float, float, float]:
    """Of so many clients that step as fast as they are answered: steps per second, p50 and p99
    seconds."""
    async with contextlib.AsyncExitStack() as stack:
        envs = await opened(stack, url, clients)
        end = time.perf_counter() + seconds
        times: list[float] = []

        async def work(env: Any) -> None:
            while time.perf_counter() < end:
                began = time.perf_counter()
                await env.step(CODE)
                times.append(time.perf_counter() - began)

        began = time.perf_counter()
        await asyncio.gather(*(work(env) for env in envs))
        rate = len(times) / (time.perf_counter() - began)
        return rate, at(0.5, times), at(0.99, times)


def memory_of(root: int) -> float:
    """MiB that a process and all its descendants hold, shared pages in shares."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(") ")[2].split()
                parents[int(entry)] = int(fields[1])
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    total = 0
    for pid in family:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(text.partition("\nPss:")[2].split()[0])
    return total / 1024


async def crowd(url: str, pid: int, count: int, rounds: int) -> dict[str, float]:
    """So many environments alive, of which 16 step at once, in turns."""
    before = memory_of(pid)
    async with contextlib.AsyncExitStack() as stack:
        began = time.perf_counter()
        envs = await opened(stack, url, count)
        opening = time.perf_counter() - began
        waiting = [env for _ in range(rounds) for env in envs]
        times = []

        async def work() -> None:
            while waiting:
                env = waiting.pop()
                began = time.perf_counter()
                await env.step(CODE)
                times.append(time.perf_counter() - began)

        await asyncio.gather(*(work() for _ in range(16)))
        each = (memory_of(pid) - before) / count
    return {
        "p50_ms": at(0.5, times) * 1e3,
        "p99_ms": at(0.99, times) * 1e3,
        "mib_each": each,
        "opened_per_s": count / opening,
    }


def bursts(port: int, rounds: int) -> dict[str, float]:
    """Seconds until so many new environments are reset, and of further resets of the same."""
    first, following = [], []
    for _ in range(rounds):
        burst = Burst(port)
        first.append(burst.open(BURST))
        following += [burst.reset() for _ in range(2)]
        burst.close()
        time.sleep(2)  # until the server has ended them
    return {"first_s": statistics.median(first), "next_s": statistics.median(following)}


def raise_descriptors(wanted: int) -> None:
    """Of this process, which holds a socket per environment; the servers inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise SystemExit(f"bench: {wanted} open files are needed, the hard limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute, and less exact")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the numbers as JSON too")
    parser.add_argument("--clients", metavar="N,N", help="crowds that step at once [1,8,64,512]")
    parser.add_argument("--environments", type=int, metavar="N", help="alive at once [1000]")
    parser.add_argument("--only", choices=PARTS, help="one part")
    options = parser.parse_args()
    rounds, count = (2, 30) if options.quick else (5, 100)
    seconds = 1.5 if options.quick else 5.0
    many = options.environments or (200 if options.quick else 1000)
    crowds = (1, 8, 64) if options.quick else (1, 8, 64, 512)
    if options.clients:
        crowds = tuple(int(one) for one in options.clients.split(","))
    parts = {options.only} if options.only else set(PARTS)
    largest = max(many, BURST, *crowds)
    raise_descriptors(largest + 256)
    numbers: dict[str, Any] = {"build": BUILD.name, "cores": os.cpu_count()}

    with contextlib.ExitStack() as stack:
        data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vitrine-bench-")))
        data.chmod(0o755)
        ports = free_port(), free_port()
        ours = [str(BUILD / "bin" / "vitrine"), "serve", "--listen", f"127.0.0.1:{ports[0]}"]
        ours += ["--data", str(data / "data"), "--image", str(ROOT / "build" / "image")]
        ours += ["--capacity", str(max(2000, largest + 16))]  # the judge takes some
        servers = {
            "vitrine": stack.enter_context(served(ours, ports[0])),
            "stock": stack.enter_context(
                served([sys.executable, str(HERE / "stock_server.py"), str(ports[1])], ports[1])
            ),
        }
        for pause in (0.05, 0.0) if "episodes" in parts else ():
            times: dict[str, list[float]] = {name: [] for name in servers}
            for _ in range(rounds):
                for name, (url, _pid) in servers.items():
                    times[name] += asyncio.run(episodes(url, count, pause))
            for name, samples in times.items():
                p50, p99 = statistics.median(samples) * 1e3, at(0.99, samples) * 1e3
                kind = f"reset+step every {pause * 1e3:.0f} ms" if pause else "reset+step at once"
                numbers[f"{name} {kind}"] = {"p50_ms": p50, "p99_ms": p99}
                print(f"{kind:24} {name:8} p50 {p50:7.2f} ms   p99 {p99:7.2f} ms", flush=True)
        for clients in crowds if "steps" in parts else ():
            for name, (url, _pid) in servers.items():
                try:
                    rate, p50, p99 = asyncio.run(steps_per_second(url, clients, seconds))
                except Exception as error:  # a peer that cannot is a result too
                    print(f"steps of {clients:3} clients     {name:8} failed: {error!r:.80}")
                    continue
                numbers[f"{name}_steps_per_s_{clients}"] = {
                    "rate": rate,
                    "p50_ms": p50 * 1e3,
                    "p99_ms": p99 * 1e3,
                }
                print(
                    f"steps of {clients:3} clients     {name:8} {rate:7.0f} /s     "
                    f"p50 {p50 * 1e3:7.2f} ms   p99 {p99 * 1e3:7.2f} ms",
                    flush=True,
                )
        if "alive" in parts:
            url, pid = servers["vitrine"]
            found = asyncio.run(crowd(url, pid, many, 2))
            numbers[f"vitrine_{many}_environments"] = found
            print(
                f"{many} environments alive: step p50 {found['p50_ms']:.2f} ms, "
                f"p99 {found['p99_ms']:.2f} ms, {found['mib_each']:.2f} MiB each, "
                f"opened {found['opened_per_s']:.0f} /s"
            )
        if "burst" in parts:
            found = bursts(ports[0], 2 if options.quick else 5)
            numbers[f"vitrine_burst_{BURST}"] = found
            print(
                f"{BURST} environments at once: connected and reset in {found['first_s']:.2f} s, "
                f"reset again in {found['next_s']:.2f} s (medians)"
            )
    if options.json:
        options.json.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
