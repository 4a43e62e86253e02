# SPDX-License-Identifier: Apache-2.0
"""A damaged image, a missing program, a wrong option: each is a refusal that names it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import keepers
import pytest
import surroundings
from refusals import ROOT_ONLY, refused


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="vitrine-faults-") as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)


@pytest.fixture
def image(open_path: Path) -> Path:
    """An image that is whole; tests break their own."""
    (open_path / "root").symlink_to(keepers.IMAGE / "root")
    (open_path / "manifest.json").write_bytes((keepers.IMAGE / "manifest.json").read_bytes())
    return open_path


def test_a_missing_image_is_refused(tmp_path: Path) -> None:
    refused(says="not_found: there is no runtime image", image=tmp_path / "none")


def test_an_image_without_a_tree_is_refused(image: Path) -> None:
    (image / "root").unlink()
    refused(says="damaged: it has no root directory", image=image)


def test_an_image_without_a_manifest_is_refused(image: Path) -> None:
    (image / "manifest.json").unlink()
    refused(says="damaged: it has no readable manifest", image=image)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": }', "\0\xff" * 10, '{"format": 1}'])
def test_an_image_with_a_broken_manifest_is_refused(image: Path, text: str) -> None:
    (image / "manifest.json").write_text(text)
    refused(says="damaged: its manifest is not readable", image=image)


@pytest.mark.parametrize("format", [0, 2, 99])
def test_an_image_of_another_format_is_refused(image: Path, format: int) -> None:
    manifest = json.loads((image / "manifest.json").read_text())
    (image / "manifest.json").write_text(json.dumps({**manifest, "format": format}))
    refused(says=f"has format {format}, this program needs", image=image)


def python_file() -> str:
    """The interpreter's own file, relative to the image's tree."""
    root = keepers.IMAGE / "root"
    return os.path.join("usr/bin", os.readlink(root / "usr/bin/python3"))


DAMAGE = {
    "python3 is missing": ("rm usr/bin/python3", "/usr/bin/python3 is missing"),
    "python is missing": (f"rm {python_file()}", "/usr/bin/python3 is missing"),
    "python is cut off": (f"truncate -s 100000 {python_file()}", "no Python can be started"),
    "python is empty": (f"truncate -s 0 {python_file()}", "no Python can be started"),
    "the C library is missing": ("rm $(find usr/lib -name libc.so.6)", "no Python can be started"),
    "the C library is cut off": (
        "truncate -s 5000 $(find usr/lib -name libc.so.6)",
        "no Python can be started",
    ),
    "the standard library is missing": (
        "mv usr/lib/python3.* usr/lib/elsewhere",
        "no Python can be started",
    ),
    "the home is missing": ("rm -r home/sandbox", "/home/sandbox is missing"),
    "there is no /proc": ("rm -r proc", "/proc is missing"),
}


@ROOT_ONLY
@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_image_is_refused(image: Path, what: str) -> None:
    command, says = DAMAGE[what]
    refused(says=says, image=image, wrapper=with_damage(image, command))


def with_damage(image: Path, command: str) -> tuple[str, ...]:
    (image / "root").unlink()
    (image / "root").mkdir()
    copy = surroundings.damaged_copy(keepers.IMAGE / "root", image / "root", command)
    return surroundings.after(*copy)


@ROOT_ONLY
@pytest.mark.parametrize("module", ["_multiarray_umath.", "pandas/_libs/lib."])
def test_an_image_whose_packages_are_cut_off_is_refused(image: Path, module: str) -> None:
    find = f"find . -path '*{module}*.so'"
    cut = f"{find} | grep . >&2 && {find} -exec truncate -s 20000 {{}} +"
    refused(says="no Python can be started", image=image, wrapper=with_damage(image, cut))


@ROOT_ONLY
def test_an_image_that_sessions_may_not_read_is_refused(image: Path) -> None:
    (image / "root").unlink()
    (image / "root").mkdir()
    for part in (keepers.IMAGE / "root").iterdir():
        (image / "root" / part.name).symlink_to(part)
    (image / "root").chmod(0o700)
    refused(says="let everyone read the image", image=image)


def test_a_missing_runtime_is_refused(open_path: Path) -> None:
    refused("--runtime", str(open_path), says="there is no session runtime")


def test_a_runtime_without_its_parts_is_refused(open_path: Path) -> None:
    python = json.loads((keepers.IMAGE / "manifest.json").read_text())["python"]
    version = ".".join(python.split(".")[:2])
    (open_path / version / "usr/lib/vitrine").mkdir(parents=True)
    refused("--runtime", str(open_path), says=f"no session runtime for Python {version}")


def test_an_image_of_a_python_that_was_not_built_for_is_refused(open_path: Path) -> None:
    (open_path / "3.99").mkdir()
    refused("--runtime", str(open_path), says="this program was built for Python 3.99")


def test_a_missing_init_is_refused(tmp_path: Path) -> None:
    refused("--init", str(tmp_path / "none"), says="vitrine-init")


def test_an_init_that_is_no_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "init").write_text("not a program")
    refused("--init", str(tmp_path / "init"), says="vitrine-init")


@pytest.mark.parametrize(
    "options",
    [
        ("--pool", "many"),
        ("--pool", "-1"),
        ("--shells", "0"),
        ("--capacity", "0"),
        ("--children-per-zygote", "0"),
        ("--uid-base", "0"),
        ("--name", "a/b"),
        ("--name", ""),
        ("--nonsense", "1"),
        ("--pool",),
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_named(options: tuple[str, ...]) -> None:
    log = refused(*options, says=options[0])
    assert "invalid_argument" in log


def test_a_control_path_that_is_too_long_is_refused(tmp_path: Path) -> None:
    refused("--control", str(tmp_path / ("x" * 120)), says="invalid_argument")


def test_a_control_path_in_no_directory_is_refused(tmp_path: Path) -> None:
    refused("--control", str(tmp_path / "none" / "control"), says="binding the control socket")


@ROOT_ONLY
def test_a_control_path_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    refused(
        "--control",
        str(tmp_path / "control"),
        uid=keepers.NOBODY,
        says="binding the control socket",
    )
