# SPDX-License-Identifier: Apache-2.0
"""Files in both directions, and paths that try to get out."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

import vitrine
from vitrine import Sandbox
from vitrine.calls import parts_of
from vitrine.untar import unpack


def test_what_is_written_is_read(box: Sandbox) -> None:
    box.files.write("data/in.csv", "a,b\n1,2\n")
    box.files.write("raw", b"\xff\x00")
    box.files.write("stream", iter([b"one ", b"two"]))

    assert box.run("open('data/in.csv').read()").value == "a,b\n1,2\n"
    assert box.files.read("raw") == b"\xff\x00"
    assert box.files.read_text("/home/sandbox/stream") == "one two"


@pytest.mark.parametrize("name", ["a b", "100%", "%2e%2e", "ü", "?x=1&y", "#hash", "back\\slash"])
def test_odd_names(box: Sandbox, name: str) -> None:
    box.files.write(name, name)

    assert box.run("import os; os.listdir('.')").value == [name]
    assert box.files.read_text(name) == name
    assert [one.name for one in box.files.list()] == [name]
    box.files.delete(name)
    assert box.files.list() == []


def test_large_files_stream(box: Sandbox, tmp_path: Path) -> None:
    content = os.urandom(1 << 20) * 8
    (tmp_path / "in").write_bytes(content)

    box.files.upload(tmp_path / "in")
    target = box.files.download("in", tmp_path / "out")

    assert target.read_bytes() == content
    assert box.files.list()[0].size == len(content)
    assert os.listdir(tmp_path) in (["in", "out"], ["out", "in"]), "a temporary file was left"


def test_directories(box: Sandbox, tmp_path: Path) -> None:
    box.run("import os; os.makedirs('d/e'); open('d/e/f', 'w').write('x'); os.symlink('/', 'd/l')")

    box.files.download_directory("d", tmp_path / "got")
    box.files.archive(tmp_path / "all.tar")
    box.files.upload_directory(tmp_path / "got", "back")

    assert (tmp_path / "got/e/f").read_text() == "x"
    assert not (tmp_path / "got/l").exists()
    with tarfile.open(tmp_path / "all.tar") as tar:
        assert any(name.endswith("d/e/f") for name in tar.getnames())
    assert box.files.read_text("back/e/f") == "x"


def test_what_is_missing_is_not_found(box: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(vitrine.NotFound):
        box.files.download("nope", tmp_path)

    assert os.listdir(tmp_path) == []


def test_too_large_for_the_session() -> None:
    with Sandbox(limits={"disk_mb": 8}) as box, pytest.raises(vitrine.VitrineError) as caught:
        box.files.write("big", bytes(32 << 20))

    assert isinstance(caught.value, vitrine.TooLarge | vitrine.DiskFull)
    assert caught.value.remedy


@pytest.mark.parametrize("path", ["../x", "a/../b", "/etc/passwd", "", ".", "a//b", "a\0b", "a/"])
def test_paths_that_lead_out_are_refused_here(path: str) -> None:
    with pytest.raises(vitrine.UnsafePath):
        parts_of(path)


def test_a_link_that_leads_out_is_refused_there(box: Sandbox) -> None:
    box.run("import os; os.symlink('/etc/passwd', 'out')")

    with pytest.raises(vitrine.ServerError):
        box.files.read("out")


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> tarfile.TarFile:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    buffer.seek(0)
    return tarfile.open(fileobj=buffer)


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil"])
def test_an_archive_cannot_write_outside(tmp_path: Path, name: str) -> None:
    with pytest.raises(vitrine.UnsafePath):
        unpack(archive((tarfile.TarInfo(name), b"x")), tmp_path / "in")

    assert not list(tmp_path.rglob("evil"))


def test_an_archive_brings_no_links_and_no_modes(tmp_path: Path) -> None:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc"
    below = tarfile.TarInfo("link/file")
    odd = tarfile.TarInfo("setuid")
    odd.mode = 0o6777

    unpack(archive((link, b""), (below, b"x"), (odd, b"y")), tmp_path / "in")

    assert not (tmp_path / "in/link").is_symlink()
    assert (tmp_path / "in/link/file").read_bytes() == b"x"
    assert (tmp_path / "in/setuid").stat().st_mode & 0o7111 == 0


def test_an_archive_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/d").symlink_to(tmp_path)

    with pytest.raises(vitrine.UnsafePath):
        unpack(archive((tarfile.TarInfo("d/evil"), b"x")), tmp_path / "in")
    assert not (tmp_path / "evil").exists()
