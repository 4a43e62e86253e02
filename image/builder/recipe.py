# SPDX-License-Identifier: Apache-2.0
"""What determines an image, as one hash: lists, lock, build code, release, architecture.

Package versions are not part of it: a new security update does not make an image outdated by
itself. `image/build --force` takes the release's current versions.
"""

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

OS_RELEASE = Path("/etc/os-release")


@dataclass(frozen=True)
class Host:
    release: str  # "debian-12", "ubuntu-24.04"
    architecture: str  # as dpkg names it: "amd64"


def parse_release(os_release: str) -> str:
    fields = {}
    for line in os_release.splitlines():
        key, separator, value = line.partition("=")
        if separator:
            fields[key.strip()] = value.strip().strip("\"'")
    version = fields.get("VERSION_ID") or fields.get("VERSION_CODENAME") or "rolling"
    return f"{fields.get('ID', 'unknown')}-{version}"


def this_host() -> Host:
    try:
        release = parse_release(OS_RELEASE.read_text())
        architecture = subprocess.run(
            ["dpkg", "--print-architecture"], check=True, capture_output=True, text=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        from .progress import BuildError

        raise BuildError(
            f"this host is not a Debian or Ubuntu: {error}",
            "build the image on one, or copy a built one and name it with --image",
        ) from error
    return Host(release, architecture)


def recipe_files(image_dir: Path) -> list[Path]:
    lists = [image_dir / name for name in ("build", "packages.txt", "wheels.lock")]
    return sorted([*lists, *(image_dir / "builder").glob("*.py")])


def recipe_hash(image_dir: Path, host: Host) -> str:
    digest = hashlib.sha256()
    for part in (host.release, host.architecture):
        digest.update(part.encode() + b"\0")
    for path in recipe_files(image_dir):
        digest.update(str(path.relative_to(image_dir)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
