# SPDX-License-Identifier: Apache-2.0
"""Sizes before the download, and packages with an index of their own: on loopback."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from served import Server
from test_hostile_index import HOST, Index
from test_packages import layers, run, value
from wheels import wheel, zip_bomb

LIMIT = 20 << 20


def index_of(*wheels: Path) -> Index:
    """An index that tells metadata beside the files, as large ones do."""
    index = Index({path.name: path.read_bytes() for path in wheels})
    for path in wheels:
        name, version = path.name.split("-")[:2]
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        if name == "vs_needs":
            about += "Requires-Dist: vs-torch\n"
        index.files[path.name + ".metadata"] = about.encode()
        digest = hashlib.sha256(index.files[path.name]).hexdigest()
        link = f'<a href="/files/{path.name}#sha256={digest}" data-core-metadata="true">{path.name}</a>\n'
        page = name.replace("_", "-")
        index.pages[page] = index.pages.get(page, "") + link
    return index


@pytest.fixture
def serve_indexes(serve: Callable[..., Server]) -> Callable[..., Server]:
    def one(main: Index, **settings: object) -> Server:
        options = ("--egress-allow-private", f"{HOST}/32")
        return serve(
            options=options, index_url=main.url, find_links=0, layer_bytes=LIMIT, **settings
        )

    return one


def test_what_is_too_big_is_refused_before_it_is_downloaded(
    tmp_path: Path, serve_indexes: Callable[..., Server]
) -> None:
    big = wheel(tmp_path, "vs_big")
    index = index_of(big)
    index.lengths[big.name] = 3_100_000_000
    server = serve_indexes(index)

    refused = server.post("/v1/run", {"code": "1", "packages": ["vs-big"]})

    refused.is_problem(422, "too_big")
    assert "needs 3.1 GB, the limit is 20 MiB (--layer-mb)" in refused.json["detail"], refused
    assert big.name not in index.fetched and layers(server)["layers"] == []
    inside = server.create().run("%pip install vs-big")
    assert "needs 3.1 GB" in inside["error"]["value"], inside
    index.close()


def test_the_size_is_that_of_the_unpacked_files_where_the_server_has_ranges(
    tmp_path: Path, serve_indexes: Callable[..., Server]
) -> None:
    """Without ranges the length of the wheel is what counts, and the disk's limit ends the rest."""
    bomb = zip_bomb(tmp_path, "vs_bomb", 80 << 20)
    index = index_of(bomb)
    index.lengths[bomb.name] = 10  # it lies
    server = serve_indexes(index)

    refused = server.post("/v1/run", {"code": "1", "packages": ["vs-bomb"]})

    refused.is_problem(422, "too_big")
    assert "Downloading" not in refused.json["detail"], refused
    assert layers(server)["layers"] == [], "nothing half made"
    index.close()


def test_a_server_that_says_no_size_is_no_obstacle(
    tmp_path: Path, serve_indexes: Callable[..., Server]
) -> None:
    index = index_of(wheel(tmp_path, "vs_plain"))
    index.lengths["vs_plain-1.0-py3-none-any.whl"] = 0
    server = serve_indexes(index)

    assert value(run(server, "import vs_plain; 1", packages=["vs-plain"])) == "1"
    index.close()


def test_a_package_comes_from_its_own_index_also_where_another_needs_it(
    tmp_path: Path, serve_indexes: Callable[..., Server]
) -> None:
    (tmp_path / "cpu").mkdir()
    huge = wheel(tmp_path, "vs_torch", "2.0", requires=("vs_cuda",))
    main = index_of(huge, wheel(tmp_path, "vs_needs", requires=("vs_torch",)))
    main.lengths[huge.name] = 3_100_000_000
    cpu = index_of(wheel(tmp_path / "cpu", "vs_torch", "2.0+cpu"))
    server = serve_indexes(main, index_for={"vs-torch": cpu.url})
    code = "import vs_torch; vs_torch.version"

    assert value(run(server, code, packages=["vs-torch"])) == "'2.0+cpu'"
    assert value(run(server, code, packages=["vs-needs"])) == "'2.0+cpu'"
    assert huge.name not in main.fetched
    main.close()
    cpu.close()


def test_where_its_own_index_does_not_answer_the_main_one_is_used_with_the_size_check(
    tmp_path: Path, serve_indexes: Callable[..., Server]
) -> None:
    main = index_of(wheel(tmp_path, "vs_torch", "2.0"))
    gone = index_of()
    gone.close()
    server = serve_indexes(main, index_for={"vs_torch": gone.url})
    code = "import vs_torch; vs_torch.version"

    main.lengths["vs_torch-2.0-py3-none-any.whl"] = 900_000_000
    refused = server.post("/v1/run", {"code": "1", "packages": ["vs-torch"]})
    main.lengths.clear()

    refused.is_problem(422, "too_big")
    assert "needs 900 MB" in refused.json["detail"], refused
    assert value(run(server, code, packages=["vs-torch"])) == "'2.0'"
    main.close()
