# SPDX-License-Identifier: Apache-2.0
"""A server that installs from a directory of wheels made here: no network is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contract"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from served import Server
from shop import Shop
from wheels import wheel, zip_bomb


@pytest.fixture(scope="session")
def shop() -> Iterator[Shop]:
    made = Shop()
    make = made.wheels
    wheel(make, "vt_plain", "1.0")
    wheel(make, "vt_plain", "2.0")
    wheel(make, "vt_needs", requires=("vt_plain<2",))
    wheel(make, "vt_wants_two", requires=("vt_plain>=2",))
    wheel(make, "vt_fast", tag="cp27-cp27m-linux_x86_64")
    wheel(make, "vt_script", scripts={"vt-hello": "vt_script:main"},
          files={"vt_script.py": "def main():\n    print('hello from a script')\n"})  # fmt: skip
    wheel(make, "vt_pth", files={"vt_pth.py": "x = 1\n",
                                 "vt_pth.pth": "import os;os.environ['VT_PTH']='x'\n"})  # fmt: skip
    wheel(make, "vt_escape", files={"vt_escape.py": "", "../../../../tmp/vt_escaped": "out"})
    wheel(make, "numpy", "0.1", files={"numpy/__init__.py": "__version__ = '0.1'\n"})
    wheel(make, "vt_old_numpy", requires=("numpy==0.1",))
    wheel(make, "vt_new_requests", requires=("requests>=1",))
    zip_bomb(make, "vt_bomb", 80 << 20)
    yield made
    made.close()


@pytest.fixture(scope="session")
def server(shop: Shop) -> Iterator[Server]:
    one = shop.serve(layer_bytes=40 << 20)
    with one.must_end_cleanly():
        yield one


@pytest.fixture
def serve(shop: Shop) -> Iterator[Callable[..., Server]]:
    before = len(shop.servers)
    yield shop.serve
    for server in shop.servers[before:]:
        server.end()
