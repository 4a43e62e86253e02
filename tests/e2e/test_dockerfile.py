# SPDX-License-Identifier: Apache-2.0
"""packaging/Dockerfile, as far as it can be tried without Docker: what its last stage copies is put into
an empty directory in the same places, and its command is run from there."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "contract"), str(ROOT / "tests" / "openenv")]
from floored import make_image  # noqa: E402

BUILD = Path(os.environ.get("VITRINE_BUILD", ROOT / "build" / "dev")).resolve()
PLACE = "/opt/vitrine/build"


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "packaging" / "Dockerfile").read_text()
    text = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line]


def last_stage() -> list[tuple[str, str]]:
    all_of_them = instructions()
    return all_of_them[max(i for i, (verb, _) in enumerate(all_of_them) if verb == "FROM") :]


def of(verb: str) -> list[str]:
    return [rest for one, rest in last_stage() if one == verb]


@pytest.fixture
def root() -> Iterator[Path]:
    """The files of the last stage below a directory; those of the image are links, because they are many."""
    with tempfile.TemporaryDirectory(prefix="vitrine-container-") as name:
        base = Path(name)
        base.chmod(0o755)
        for words in (shlex.split(rest) for rest in of("COPY")):
            assert words[0] == "--from=build", words
            *sources, target = words[1:]
            for source in sources:
                inside = Path(source).relative_to(PLACE)
                to = base / Path(target).relative_to("/")
                if target.endswith("/"):
                    to = to / inside.name
                to.parent.mkdir(parents=True, exist_ok=True)
                if inside == Path("image"):
                    make_image(to)
                    continue
                assert inside.parts[0] == "release", "made by ./dev build release"
                have = BUILD / Path(*inside.parts[1:])
                assert have.exists(), f"the build makes no {inside}"
                (shutil.copytree if have.is_dir() else shutil.copy2)(have, to)
        yield base


@pytest.mark.parametrize(
    "confined", [False, True], ids=["with namespaces", "as a stock docker run"]
)
def test_its_command_serves_openenv_on_its_port(root: Path, confined: bool) -> None:
    if confined and os.geteuid() != 0:
        pytest.skip("a container is imitated by root")
    [entry], [arguments] = of("ENTRYPOINT"), of("CMD")
    command = json.loads(entry) + json.loads(arguments)
    assert command[command.index("--listen") + 1] == "0.0.0.0:8000"
    assert of("EXPOSE") == ["8000"]
    command[0] = str(root / command[0].lstrip("/"))
    command[command.index("--listen") + 1] = "0.0.0.0:0"  # 8000 may be taken here
    command[command.index("--data") + 1] = str(root / "data")

    if confined:
        command = [sys.executable, str(ROOT / "tests" / "openenv" / "confine.py"), *command]
    with open(root / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, cwd="/")
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], 30)  # as long as OpenEnv waits
        line = process.stdout.readline().decode() if ready else ""
        assert line.startswith("vitrine: ready on http://"), (root / "log").read_text()
        url = f"http://127.0.0.1:{line.strip().rpartition(':')[2]}"
        with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:
            assert json.load(answer) == {"status": "healthy"}
        body = json.dumps({"action": {"code": "6 * 7"}}).encode()
        with urllib.request.urlopen(f"{url}/step", body, timeout=20) as answer:
            assert json.load(answer)["observation"]["stdout"] == "42"
        with urllib.request.urlopen(f"{url}/v1/info", timeout=20) as answer:
            level = json.load(answer)["isolation"]["level"]
        assert level == ("container" if confined else "full")
        log_text = (root / "log").read_text()
        assert "--auth none" in log_text
        assert ("isolation: container, weaker than full" in log_text) == confined
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def test_its_packages_hold_every_library_of_the_programs() -> None:
    if shutil.which("dpkg") is None or 'VERSION_ID="12"' not in Path("/etc/os-release").read_text():
        pytest.skip("the image is of Debian 12, and so must be the host that is looked at")
    [install] = [rest for rest in of("RUN") if "apt-get install" in rest]
    named = {word for word in install.partition("&&")[2].split() if word.startswith("lib")}
    text = subprocess.run(
        ["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts",
         "--no-breaks", "--no-replaces", "--no-enhances", *named],
        capture_output=True, text=True, timeout=60,
    ).stdout  # fmt: skip
    have = {line.strip() for line in text.splitlines() if line and not line.startswith(" ")}
    needed = {}
    for program in (
        "vitrine",
        "vitrine-keeper",
        "vitrine-front",
        "vitrine-egress",
        "vitrine-gateway",
        "vitrine-encoder",
    ):
        listed = subprocess.run(["ldd", BUILD / "bin" / program], capture_output=True, text=True)
        for path in re.findall(r"=> (/\S+)", listed.stdout):
            needed[os.path.realpath(path)] = f"{program} needs {path}"
    assert needed
    # Asked once for all of them: each question reads the lists of every package.
    names = [name for path in needed for name in (path, path.removeprefix("/usr"))]
    asked = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True)
    owners: dict[str, set[str]] = {}
    for line in asked.stdout.splitlines():
        packages, _, path = line.rpartition(": ")
        owners.setdefault(path, set()).update(one.partition(":")[0] for one in packages.split(", "))
    for path, need in needed.items():
        packages = owners.get(path, set()) | owners.get(path.removeprefix("/usr"), set())
        assert packages & have, f"{need} of {packages or 'no package'}"
