# SPDX-License-Identifier: Apache-2.0
"""apt with lists and caches of its own for one release: the host's are neither read nor changed.

Trust: apt checks the lists' signatures against the one keyring that the sources name.
"""

import fcntl
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .progress import BuildError

DAY = 24 * 3600.0
CHECK_MIRROR = "see that the host's package mirror can be reached, and try again"


def explain(release: str, complaint: str) -> BuildError:
    """What apt's words mean for the one who builds."""
    words = [line for line in complaint.splitlines() if line.startswith(("E:", "W:"))]
    told = "\n    ".join((words or complaint.strip().splitlines())[-4:])
    if re.search(
        r"NO_PUBKEY|not signed|signatures? (couldn't|were) |EXPKEYSIG|KEYEXPIRED", complaint
    ):
        return BuildError(
            f"the lists of {release} are signed by a key that this host does not know:\n    {told}",
            "update the package debian-archive-keyring, or name a file with --keyring",
        )
    if "does not have a Release file" in complaint:
        return BuildError(
            f"the mirror has no release {release}:\n    {told}",
            "name a mirror that has it with --mirror, or another --release",
        )
    if re.search(r"404 +Not Found", complaint):
        return BuildError(
            f"the mirror no longer has a package that its lists named:\n    {told}",
            "run image/build --force, which fetches the lists again",
        )
    return BuildError(f"apt failed:\n    {told}", CHECK_MIRROR)


class Apt:
    """Give it to one build at a time: `locked`."""

    def __init__(self, directory: Path, release: str, sources: Callable[[], str]) -> None:
        """`sources` makes the text of sources.list; it is called once lists are needed."""
        self.release = release
        self._sources = sources
        self._directory = directory
        self._updated = directory / "updated"  # holds the sources that the lists were made from

    def _options(self) -> list[str]:
        settings = {
            "Dir::State": self._directory,
            "Dir::State::status": "/dev/null",  # the host's own packages do not count
            "Dir::State::extended_states": "/dev/null",
            "Dir::Cache": self._directory / "cache",
            "Dir::Etc::sourcelist": self._directory / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "APT::Default-Release": "",
            "APT::Update::Error-Mode": "any",  # a list that is missing is no warning
            "APT::Update::Post-Invoke": "",
            "APT::Update::Post-Invoke-Success": "",
            "APT::Install-Recommends": "false",
            "APT::Install-Suggests": "false",
            "Acquire::Retries": "3",
        }
        if os.geteuid() == 0:  # apt would switch to a user of its own, who cannot enter a home
            settings["APT::Sandbox::User"] = "root"
        return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    @contextmanager
    def locked(self) -> Iterator[None]:
        for name in ("lists/partial", "cache/archives/partial"):
            (self._directory / name).mkdir(parents=True, exist_ok=True)
        with open(self._directory / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def run(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        try:
            done = subprocess.run(
                [program, *self._options(), *arguments],
                capture_output=True, text=True, env=environment, cwd=cwd, check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise BuildError(f"{program} is missing", "install the package apt") from error
        if done.returncode:
            raise explain(self.release, done.stderr)
        return done.stdout

    def age(self) -> float:
        """Seconds since the lists were fetched from these sources; without end if never."""
        try:
            if self._updated.read_text() == self._sources():
                return max(0.0, time.time() - self._updated.stat().st_mtime)
        except OSError:
            pass
        return float("inf")

    def update(self) -> None:
        """Fetches the lists. On failure those of an earlier update are still there."""
        text = self._sources()
        (self._directory / "sources.list").write_text(text)
        self.run("apt-get", "update")
        self._updated.write_text(text)

    def refresh(self, now: bool) -> str:
        """Lists no older than a day, or from `now`. Returns a note if older ones have to do."""
        age = self.age()
        if not now and age < DAY:
            return ""
        try:
            self.update()
        except BuildError:
            if now or age == float("inf"):
                raise
            return f"the mirror does not answer: package lists of {age / DAY:.0f} days ago are used"
        return ""
