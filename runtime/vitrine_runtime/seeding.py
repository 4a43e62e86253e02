# SPDX-License-Identifier: Apache-2.0
"""Random state: fresh in every session, or fixed by the session's seed."""

from __future__ import annotations

import os
import random
import sys
from types import ModuleType

from .imports import ImportHooks
from .sealed import __builtins__  # noqa: F401

KEY_WORDS = 624  # of MT19937

_urandom, _seed = os.urandom, random.seed
_state: memoryview | None = None


def reseed() -> None:
    """After the fork, which ran no hooks: see `fork_hooks`."""
    _seed()
    if _state is not None:
        # Written in place: seed() would touch 100 pages more for the same random words.
        _state[:] = _urandom(len(_state))


def touch() -> None:
    """In the zygote: the same path, so that its caches are warm; every worker reseeds."""
    global _state
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None and _state is None:
        numpy_random.seed(0)  # also forgets a half-used normal number
        _state = _words_of(numpy_random)
    reseed()


def _words_of(numpy_random: ModuleType) -> memoryview | None:
    """The words of the Mersenne Twister behind numpy's global functions, in its own memory."""
    import ctypes

    try:
        generator = numpy_random.mtrand._rand._bit_generator
        if type(generator).__name__ != "MT19937":
            return None
        address = generator.ctypes.state_address
    except AttributeError:
        return None
    words = (ctypes.c_char * (KEY_WORDS * 4)).from_address(address)
    return memoryview(words).cast("B")


def seed(number: int, imports: ImportHooks) -> None:
    """Fixes the global generators of `random` and of numpy, now or when it is imported."""
    _seed(number)

    def seed_numpy(module: ModuleType) -> None:
        module.seed(number % 2**32)

    imports.after("numpy.random", seed_numpy)
