# SPDX-License-Identifier: Apache-2.0
"""The program `vitrine`, started as a person would.

VITRINE_BUILD names the build directory (default build/dev).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("VITRINE_BUILD", REPOSITORY / "build" / "dev")).resolve()
VITRINE = BUILD / "bin" / "vitrine"
PATIENCE = 60.0


def environment(url: str, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("VITRINE_TOKEN")}
    return {**kept, "VITRINE_URL": url, **more}


def vitrine(
    *arguments: str, url: str = "private", stdin: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(VITRINE), *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(url, **more),
        check=False,
    )


def read_line(process: subprocess.Popen[bytes], text: bytes) -> bytes:
    """All of stdout until `text` has come."""
    assert process.stdout is not None
    seen = b""
    latest = time.monotonic() + PATIENCE
    while text not in seen:
        ready, _, _ = select.select([process.stdout], [], [], latest - time.monotonic())
        part = os.read(process.stdout.fileno(), 4096) if ready else b""
        assert part, f"ended before {text!r}: {seen!r}"
        seen += part
    return seen


class Serving:
    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [str(VITRINE), "serve", "--listen", "127.0.0.1:0", "--pool", "1", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.line = read_line(self.process, b"\n").decode()
        self.url = self.line.rstrip("\n").rpartition(" ")[2]

    def stop(self) -> tuple[int, bytes]:
        """Its exit code, and what came on stdout after the ready line."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out
