# SPDX-License-Identifier: Apache-2.0
"""What makes the unpacked packages a root the jail can use: mount points, /etc, alternatives.

Contract with the jail: the tree is mounted read-only; /proc, /dev/shm, /dev/pts, /tmp,
/home/sandbox, /run and the files in /dev are mounted over; the server lays its own Python
into /usr/lib/vitrine. There is no /sys.
"""

import shutil
from pathlib import Path

from .progress import BuildError

DIRECTORIES = (
    "proc", "dev/shm", "dev/pts", "tmp", "home/sandbox", "run", "root", "etc", "mnt", "opt", "srv",
    "usr/bin", "usr/sbin", "usr/lib", "usr/lib/vitrine", "usr/share/vitrine", "usr/local/bin",
    "var/lib", "var/log", "var/cache/fontconfig", "var/lib/xkb",
)  # fmt: skip

DEVICE_MOUNT_POINTS = ("dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom")

LINKS = {
    "dev/ptmx": "pts/ptmx",
    "dev/fd": "/proc/self/fd",
    "dev/stdin": "/proc/self/fd/0",
    "dev/stdout": "/proc/self/fd/1",
    "dev/stderr": "/proc/self/fd/2",
    "etc/localtime": "/usr/share/zoneinfo/Etc/UTC",
    "etc/mtab": "/proc/self/mounts",
    "var/run": "/run",
    "var/tmp": "/tmp",
}

# link -> first of these that exists; what maintainer scripts would have chosen.
ALTERNATIVES = {
    "usr/bin/awk": ("mawk", "gawk"),
    "usr/bin/nawk": ("mawk", "gawk"),
    "usr/bin/sh": ("dash", "bash"),
    "usr/bin/which": ("which.debianutils",),
    "usr/bin/pager": ("less",),
    "usr/bin/lzma": ("xz",),
    "usr/bin/unlzma": ("unxz",),
    "usr/bin/lzcat": ("xzcat",),
    "usr/bin/python": ("python3",),
}

# The same for libraries, in the directory of their architecture.
LIBRARY_ALTERNATIVES = {"libblas.so.3": "blas", "liblapack.so.3": "lapack"}

FILES = {
    "etc/passwd": (
        "root:x:0:0:root:/root:/bin/bash\n"
        "sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "etc/group": "root:x:0:\ntty:x:5:\nsandbox:x:1000:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback sandbox\n",
    "etc/hostname": "sandbox\n",
    "etc/host.conf": "multi on\n",
    "etc/resolv.conf": "",
    "etc/timezone": "Etc/UTC\n",
    "etc/shells": "/bin/sh\n/bin/bash\n",
    "etc/nsswitch.conf": (
        "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
        "networks: files\nprotocols: files\nservices: files\n"
    ),
    "etc/profile": (
        "export PATH=/usr/local/bin:/usr/bin:/bin\nexport LANG=${LANG:-C.UTF-8}\nPS1='\\w\\$ '\n"
    ),
    "etc/bash.bashrc": "PS1='\\w\\$ '\n",
}

# Of the packages' own configuration, only what libraries read.
KEPT_IN_ETC = {
    "bindresvport.blacklist", "debian_version", "ethertypes", "fonts", "gai.conf", "inputrc",
    "ld.so.conf", "ld.so.conf.d", "lsb-release", "magic", "magic.mime", "mime.types", "netconfig",
    "os-release", "protocols", "rpc", "services", "ssl", "terminfo",
}  # fmt: skip


def before_packages(root: Path, architecture: str) -> None:
    """The merged-/usr links must be there first, so that packages unpack through them."""
    root.mkdir(parents=True)
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True, exist_ok=True)
    merge_usr(root, architecture)


def merge_usr(root: Path, architecture: str) -> None:
    root.mkdir(parents=True, exist_ok=True)
    merged = ["bin", "sbin", "lib"] + (["lib64"] if architecture == "amd64" else [])
    for name in merged:
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")


def after_packages(root: Path) -> None:
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True, exist_ok=True)
    _clean_etc(root / "etc")
    for name in DEVICE_MOUNT_POINTS:
        (root / name).write_bytes(b"")
    for name, text in FILES.items():
        _replace(root / name)
        (root / name).write_text(text)
    for name, target in LINKS.items():
        _replace(root / name)
        (root / name).symlink_to(target)
    for name, candidates in ALTERNATIVES.items():
        _link_alternative(root / name, candidates)
    for name, folder in LIBRARY_ALTERNATIVES.items():
        for library in (root / "usr/lib").glob(f"*/{folder}/{name}"):
            link = library.parents[1] / name
            _replace(link)
            link.symlink_to(f"{folder}/{name}")
    _trust_bundle(root)


def _replace(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def _clean_etc(etc: Path) -> None:
    for entry in etc.iterdir():
        if entry.name not in KEPT_IN_ETC and not entry.name.startswith("python3"):
            _replace(entry)


def _link_alternative(link: Path, candidates: tuple[str, ...]) -> None:
    if link.exists():
        return
    target = next((name for name in candidates if (link.parent / name).exists()), None)
    if not target:
        raise BuildError(
            f"no package brought {link.name} ({' or '.join(candidates)})",
            "add one to image/packages.txt",
        )
    _replace(link)
    link.symlink_to(target)


def _trust_bundle(root: Path) -> None:
    """One file of CA certificates, also where OpenSSL looks by default."""
    certificates = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    if not certificates:
        raise BuildError(
            "package ca-certificates brought no certificates", "see image/packages.txt"
        )
    parts = [certificate.read_text().strip() + "\n" for certificate in certificates]
    bundle = root / "etc/ssl/certs/ca-certificates.crt"
    bundle.parent.mkdir(parents=True, exist_ok=True)
    bundle.write_text("".join(parts))
    default = root / "usr/lib/ssl/cert.pem"
    default.parent.mkdir(parents=True, exist_ok=True)
    _replace(default)
    default.symlink_to("/etc/ssl/certs/ca-certificates.crt")
