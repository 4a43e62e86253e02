# SPDX-License-Identifier: Apache-2.0
"""Command lines of pip, and what the installer reads of sizes: pure functions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from vitrine_runtime import packages, wheel_sizes
from vitrine_runtime.installer_errors import Failed
from vitrine_runtime.pip_command import Refused, parse


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("install a 'b>=2'", ["a", "'b>=2'"]),
        ("-q install --upgrade a", ["a"]),
        ("install --timeout 60 --progress-bar=off a -y", ["a"]),
        ("install -c conda-forge a", ["a"]),
    ],
)
def test_names_are_told_from_options(words: str, wanted: list[str]) -> None:
    assert parse(words.split()).packages == wanted


@pytest.mark.parametrize(
    "words", ["install", "install -r", "install -i x y", "install --what y", "install -e ."]
)
def test_what_cannot_work_is_refused_with_what_to_do(words: str) -> None:
    with pytest.raises(Refused):
        parse(words.split())


def test_a_requirements_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("c\n")
    file = tmp_path / "requirements.txt"
    file.write_text("# all\na==1 \\\n  --hash=sha256:00\nb>=2  # two\n\n-r more.txt\n")

    assert parse(["install", "-r", str(file)]).packages == ["a==1", "b>=2", "c"]


def test_a_requirements_file_that_includes_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("-r r.txt\n")
    with pytest.raises(Refused, match="include each other"):
        parse(["install", "-r", str(tmp_path / "r.txt")])


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("pip install a", "install a"),
        ("python3 -m pip install 'a>=1'", "install 'a>=1'"),
        ("uv pip install a>=1,<2", "install a>=1,<2"),
        ("pip install a > /dev/null 2>&1", None),
        ("pip install a | tail -1", None),
        ("pip install a && python t.py", None),
        ("pip install $NAME", None),
        ("pip freeze", None),
        ("pipx install a", None),
    ],
)
def test_only_a_plain_installation_is_kept_from_the_shell(command: str, words: str | None) -> None:
    assert packages.install_words(command) == words


def test_sizes_are_compared_with_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"u1": 2_500_000_000, "u2": 600_000_000}
    monkeypatch.setattr(wheel_sizes, "size_of", sizes.__getitem__)

    wheel_sizes.check({"small": "u2"}, 1 << 30)
    with pytest.raises(Failed, match=r"needs 3.1 GB, the limit is 1 GiB \(--layer-mb\); torch 2.5"):
        wheel_sizes.check({"torch": "u1", "more": "u2"}, 1 << 30)
