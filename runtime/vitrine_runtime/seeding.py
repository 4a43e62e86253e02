# SPDX-License-Identifier: Apache-2.0
"""Random state: fresh in every session, or fixed by the session's seed."""

from __future__ import annotations

import os
import sys
from types import ModuleType

from .imports import ImportHooks
from .sealed import __builtins__  # noqa: F401

_urandom, _from_bytes = os.urandom, int.from_bytes


def reseed() -> None:
    """After the fork. `random` has its own fork hook; numpy's global generator has none."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        # 32 bits: seeding from an array costs a fresh worker 80 page faults more.
        numpy_random.seed(_from_bytes(_urandom(4), "little"))


def touch() -> None:
    """In the zygote: the same path, so that its caches are warm; every worker reseeds."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(0)


def seed(number: int, imports: ImportHooks) -> None:
    """Fixes the global generators of `random` and of numpy, now or when it is imported."""
    import random

    random.seed(number)

    def seed_numpy(module: ModuleType) -> None:
        module.seed(number % 2**32)

    imports.after("numpy.random", seed_numpy)
