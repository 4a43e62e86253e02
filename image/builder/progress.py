# SPDX-License-Identifier: Apache-2.0
"""What a person at the terminal sees: steps with counts and times, or an error with a remedy."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class BuildError(Exception):
    """Something the outside world caused. `remedy` is what to do next."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class Step:
    """One running step; `result` is shown when it ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.result = ""


class Progress:
    def __init__(self, total: int, quiet: bool = False) -> None:
        self._total = total
        self._quiet = quiet
        self._done = 0
        self._live = sys.stderr.isatty() and not quiet

    def _say(self, text: str) -> None:
        if not self._quiet:
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        self._done += 1
        step = Step(name)
        label = f"image: [{self._done}/{self._total}] {name}"
        started = time.monotonic()
        if self._live:
            print(f"\r\033[K{label} ...", end="", file=sys.stderr, flush=True)
        try:
            yield step
        except BuildError as error:
            if self._live:
                print(file=sys.stderr)
            raise BuildError(f"step '{name}': {error}", error.remedy) from error
        seconds = time.monotonic() - started
        start_of_line = "\r\033[K" if self._live else ""
        self._say(f"{start_of_line}{label:<45} {step.result:<34} {seconds:6.1f} s")

    def note(self, text: str) -> None:
        self._say(f"image: note: {text}")
