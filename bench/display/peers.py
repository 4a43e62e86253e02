# SPDX-License-Identifier: Apache-2.0
"""ImageMagick's `import` on a session's own display.

It runs outside the jail. A session's socket and cookie are reached through the worker's root in
/proc, which only root may do: elsewhere there is no peer.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

from served import Session


class Unavailable(Exception):
    """There is no such peer here, and why."""


class SameDisplay:
    """The display of a session, under a number of its own on this machine, until it is closed."""

    def __init__(self, session: Session) -> None:
        if os.geteuid() != 0:
            raise Unavailable("only root reaches a session's display from outside")
        root = Path(f"/proc/{session.worker()}/root")
        cookie = root / session.value("import os; os.environ['XAUTHORITY']").strip("'").lstrip("/")
        self._directory = tempfile.TemporaryDirectory(prefix="vitrine-bench-")
        authority = Path(self._directory.name) / "Xauthority"
        authority.write_bytes(cookie.read_bytes())
        sockets = Path("/tmp/.X11-unix")
        sockets.mkdir(mode=0o1777, exist_ok=True)
        for number in range(700, 800):
            self._socket = sockets / f"X{number}"
            if not self._socket.exists():
                self._socket.unlink(missing_ok=True)  # of a run that was killed
                break
        self._socket.symlink_to(root / "tmp/.X11-unix/X99")
        self.environment = {
            "PATH": os.environ["PATH"],
            "DISPLAY": f":{number}",
            "XAUTHORITY": str(authority),
        }

    def __enter__(self) -> SameDisplay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.unlink(missing_ok=True)
        self._directory.cleanup()

    def import_png(self) -> tuple[float, bytes]:
        """Milliseconds until the base64 is there, and the PNG."""
        program = shutil.which("import")
        if program is None:
            raise Unavailable("ImageMagick is not installed")
        began = time.perf_counter()
        done = subprocess.run(
            [program, "-silent", "-window", "root", "png:-"],
            env=self.environment,
            capture_output=True,
            timeout=30,
            check=False,
        )
        base64.b64encode(done.stdout)
        taken = 1000 * (time.perf_counter() - began)
        if done.returncode != 0:
            raise Unavailable(f"import: {done.stderr.decode(errors='replace').strip()[:200]}")
        return taken, done.stdout
