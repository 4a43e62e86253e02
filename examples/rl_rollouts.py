# SPDX-License-Identifier: Apache-2.0
"""A rollout loop: 64 environments at once, a policy that acts, and rewards.

It uses OpenEnv (needs `vitrine[openenv]`) where the server supports it, else native sessions; the
loop is the same. The task is to find the number that the environment hides, by code.

Usage: python rl_rollouts.py [environments] [steps]
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from typing import Protocol

import httpx
import vitrine

HIDE = "import random; _hidden = random.Random({seed}).randrange(100); _tries = 0"
GUESS = """\
_tries += 1
print("win" if {guess} == _hidden else "higher" if {guess} < _hidden else "lower")
"""


class Envs(Protocol):
    """Many environments that run code; text in, what it printed out."""

    async def open(self, count: int) -> None: ...
    async def step(self, codes: list[str | None]) -> list[str]: ...
    async def close(self) -> None: ...


class NativeEnvs:
    async def open(self, count: int) -> None:
        self.boxes = await asyncio.gather(*(vitrine.AsyncSandbox.create() for _ in range(count)))

    async def step(self, codes: list[str | None]) -> list[str]:
        async def one(box: vitrine.AsyncSandbox, code: str | None) -> str:
            return "" if code is None else (await box.run(code, timeout=10)).check().stdout

        return await asyncio.gather(*map(one, self.boxes, codes))

    async def close(self) -> None:
        await asyncio.gather(*(box.close() for box in self.boxes))


class OpenEnvEnvs:
    async def open(self, count: int) -> None:
        from vitrine.openenv import VectorCodingEnv

        self.envs = VectorCodingEnv(count)
        await self.envs.connect()
        await self.envs.reset()

    async def step(self, codes: list[str | None]) -> list[str]:
        return [one.observation.stdout if one else "" for one in await self.envs.step(codes)]

    async def close(self) -> None:
        await self.envs.close()


def choose(server: vitrine.Server) -> Envs:
    """OpenEnv, if the server and this Python have it."""
    if httpx.get(f"{server.url}/metadata", trust_env=False).status_code != 200:
        return NativeEnvs()
    try:
        import vitrine.openenv  # noqa: F401
    except ImportError:
        return NativeEnvs()
    return OpenEnvEnvs()


async def rollouts(envs: Envs, count: int, steps: int) -> list[float]:
    """Reward of each episode: 1 for a win, less for every step that it took."""
    await envs.open(count)
    try:
        await envs.step([HIDE.format(seed=seed) for seed in range(count)])
        known = [(0, 100)] * count
        rewards = [0.0] * count
        for step in range(steps):
            # The policy: a guess in the middle of what is left, with a little noise.
            guesses = [
                min(max((low + high) // 2 + random.choice((-1, 0, 0, 1)), low), high - 1)
                for low, high in known
            ]
            codes = [
                None if rewards[i] else GUESS.format(guess=guess) for i, guess in enumerate(guesses)
            ]
            if not any(codes):
                break
            for i, answer in enumerate(await envs.step(codes)):
                low, high = known[i]
                if "win" in answer:
                    rewards[i] = 1.0 - 0.05 * step
                elif "higher" in answer:
                    known[i] = (guesses[i] + 1, high)
                elif "lower" in answer:
                    known[i] = (low, guesses[i])
        return rewards
    finally:
        await envs.close()


def main(count: int = 64, steps: int = 12) -> None:
    with vitrine.local(pool=4) as server:
        envs = choose(server)
        start = time.perf_counter()
        rewards = asyncio.run(rollouts(envs, count, steps))
        seconds = time.perf_counter() - start
    won = sum(1 for reward in rewards if reward)
    print(f"{type(envs).__name__}: {count} episodes in {seconds:.2f} s, {won} won")
    print(f"mean reward {sum(rewards) / count:.2f}")
    assert won == count


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
