# SPDX-License-Identifier: Apache-2.0
"""A server of the benchmark's own, and the processor time of its stages."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any


class Server:
    """`vitrine serve` of the programs in `binaries`, on a free port."""

    def __init__(self, binaries: Path, image: Path, data: Path) -> None:
        command = [str(binaries / "vitrine"), "serve", "--listen", "127.0.0.1:0"]
        command += ["--data", str(data), "--image", str(image), "--name", f"scale-{os.getpid()}"]
        with open(data.with_suffix(".log"), "wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if "ready on" not in line:
            self.process.wait()
            raise RuntimeError(data.with_suffix(".log").read_text())
        self.port = int(line.rsplit(":", 1)[1])

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.process.terminate()
        self.process.wait(30)

    def info(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/info") as answer:
            return dict(json.load(answer))

    def used(self, variant: str) -> dict[str, int]:
        """Nanoseconds on a processor so far, of the one thread of each stage."""
        info = self.info()
        zygotes = [z for z in info["zygotes"] if z["variant"] == variant and z["warm"]]
        pids = {stage: info["processes"][stage] for stage in ("front", "keeper")}
        pids["zygote"] = zygotes[0]["pid"]
        return {stage: _used(pid) for stage, pid in pids.items()}


def _used(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0])
