# SPDX-License-Identifier: Apache-2.0
"""A directory of wheels made here, and servers that install from it: no network is needed."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from served import Server


class Shop:
    """The wheels, and servers that know them."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="vitrine-packages-"))
        self.directory.chmod(0o755)
        self.wheels = self.directory / "wheels"
        self.wheels.mkdir(mode=0o755)
        self.servers: list[Server] = []

    def serve(
        self,
        *,
        directory: Path | None = None,
        options: tuple[str, ...] = (),
        user: int | None = None,
        image: Path | None = None,
        front: tuple[str, ...] = (),
        **settings: Any,
    ) -> Server:
        file = self.directory / f"packages-{len(self.servers)}.json"
        file.write_text(json.dumps({"on": 1, "index_url": "none", "find_links": 1, **settings}))
        file.chmod(0o644)
        server = Server(
            "--wheels",
            str(self.wheels),
            *(("--image", str(image)) if image else ()),
            *options,
            front=("--packages", str(file), *front),
            directory=directory,
            user=user,
        )
        self.servers.append(server)
        return server

    def close(self) -> None:
        for server in self.servers:
            server.end()
        shutil.rmtree(self.directory, ignore_errors=True)
