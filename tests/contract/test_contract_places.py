# SPDX-License-Identifier: Apache-2.0
"""Where things may lie: the server's programs have ids of their own, its files may be root's alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from served import BUILD, IMAGE, Server


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give away what only root may enter")
def test_programs_and_image_may_lie_where_only_root_may_go(tmp_path: Path) -> None:
    private = tmp_path / "root"
    private.mkdir(mode=0o700)
    (private / "image").symlink_to(IMAGE)
    shutil.copy(BUILD / "bin" / "vitrine-front", private)

    server = Server("--image", str(private / "image"), "--front", str(private / "vitrine-front"))
    try:
        answer = server.post("/v1/run", {"code": "import numpy as np; int(np.arange(4).sum())"})
        assert answer.json["results"] == [{"text/plain": "6"}]
        server.kill_front()  # the next one is started the same way
        assert server.create().value("1 + 1") == "2"
    finally:
        server.end()
