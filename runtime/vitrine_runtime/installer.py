# SPDX-License-Identifier: Apache-2.0
"""Finds and installs packages with uv, in a session that runs nothing else.

Reads one job (JSON) from standard input. Writes JSON lines: {"progress": text} as it goes, then one
{"done": {...}} or {"failed": {"code", "detail"}}. Nothing of a package is executed, wheels are
unpacked and their modules compiled, unless source distributions are allowed: those run their own
code, here. What this says is checked: it handled hostile archives.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from .index_pages import hosts_of
from .installer_errors import Failed, meaning_of
from .installer_offers import POINT, key_of, offer_built, offer_image
from .sealed import __builtins__  # noqa: F401

HOME = Path("/home/sandbox")
LAYER = HOME / "layer"  # the tree that becomes the layer
WORK = HOME / "work"  # cache and lists
OFFERS = WORK / "image"
UV = "/usr/local/bin/uv"
PYTHON = "/usr/bin/python3"

WHOLE = 4 << 20  # bytes of a package of the image that a build may get

_PIN = re.compile(r"^([A-Za-z0-9._-]+)(\[[^\]]*\])?==(\S+)")
_PROGRESS = re.compile(r"^(Resolved|Downloading|Downloaded|Building|Built|Prepared|Installed)\b")


def main() -> None:
    for name in ("NO_PROXY", "no_proxy"):  # an index may be on the host's loopback, not on ours
        os.environ.pop(name, None)
    try:
        job = json.load(sys.stdin)
        actions = {
            "inventory": _inventory,
            "resolve": _resolve,
            "install": _install,
            "hosts": _hosts,
        }
        _say({"done": actions[job["action"]](job)})
    except Failed as failed:
        _say({"failed": {"code": failed.code, "detail": failed.detail[:4000]}})
    except OSError as error:
        code = "too_big" if error.errno == 28 else "failed"
        _say({"failed": {"code": code, "detail": str(error)[:1000]}})


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


# -- what the image has ---------------------------------------------------------------------------


def _inventory(job: dict[str, Any]) -> dict[str, Any]:
    from importlib import metadata

    modules = {
        name: found[0]
        for name, found in metadata.packages_distributions().items()
        if name.isidentifier()
    }
    for directory in sys.path:  # what brings no metadata: modules of Debian's own packages
        if (directory.startswith(POINT) and not job.get("environment")) or not os.path.isdir(
            directory
        ):
            continue
        for entry in os.listdir(directory):
            name = entry.split(".")[0]
            if name.isidentifier() and (entry.endswith((".py", ".so")) or "." not in entry):
                modules.setdefault(name, name)
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "standard": sorted(sys.stdlib_module_names),
        "modules": modules,
        "index": _default_index(),
    }


def _default_index() -> str:
    """What pip uses where nobody configured anything."""
    try:
        from pip._internal.models.index import PyPI

        return str(PyPI.simple_url)
    except ImportError:
        return ""


def _image(environment: bool) -> dict[str, str]:
    """With the operator's environment: what is at the layers' place here is its own."""
    from importlib import metadata

    found: dict[str, str] = {}
    for item in metadata.distributions():
        name = item.metadata["Name"]
        if name and (environment or POINT not in str(item.locate_file(""))):
            found.setdefault(key_of(name), item.version)
    return found


# -- resolve: which versions ----------------------------------------------------------------------


def _resolve(job: dict[str, Any]) -> dict[str, Any]:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    _certificates(job)
    image = _image(bool(job.get("environment")))
    (WORK / "wanted.txt").write_text("".join(line + "\n" for line in job["requirements"]))
    has = dict(pin.split("==", 1) for pin in job.get("pins", []))  # of the session's own layers
    pins = [f"{name}=={version}" for name, version in sorted((image | has).items())]
    (WORK / "image.txt").write_text("".join(pin + "\n" for pin in pins))
    offer_image(OFFERS, WHOLE if job.get("allow_sdist") else 0, bool(job.get("environment")))
    offer_built(OFFERS, job.get("built", []))
    command = ["pip", "compile", str(WORK / "wanted.txt"), "--generate-hashes", "--no-header",
               "--no-annotate", "--no-emit-index-url", "--no-strip-extras", "--upgrade",
               "--output-file", str(WORK / "pins.txt")]  # fmt: skip
    shadows = False
    try:
        _uv([*command, "--constraints", str(WORK / "image.txt")], job)
    except Failed as failed:
        if failed.code not in ("conflict", "package_not_found", "no_wheel"):
            raise
        changed = _changed(job["requirements"], has)
        if has and not changed:
            raise
        if has:  # what else the session has stays as it is, and what it needs is looked at again
            rest = [f"{name}=={version}" for name, version in has.items() if name not in changed]
            (WORK / "wanted.txt").write_text("\n".join([*job["requirements"], *rest]) + "\n")
            pins = [pin for pin in pins if pin.split("==")[0] not in changed]
            (WORK / "image.txt").write_text("".join(pin + "\n" for pin in pins))
        try:
            _uv([*command, "--constraints", str(WORK / "image.txt")] if has else command, job)
        except Failed as plain:
            raise plain from None
        shadows = not has
    chosen = []
    for block in re.split(r"\n(?=\S)", (WORK / "pins.txt").read_text()):
        pin = _PIN.match(block.strip())
        if pin and image.get(key_of(pin[1])) != pin[3].rstrip("\\").strip():
            hashes = sorted(re.findall(r"--hash=(\w+:[0-9a-f]+)", block))
            version = pin[3].rstrip("\\").strip()
            chosen.append({"name": key_of(pin[1]), "version": version, "hashes": hashes})
    return {"pins": sorted(chosen, key=lambda one: one["name"]), "shadows": shadows}


def _changed(requirements: list[str], has: dict[str, str]) -> set[str]:
    """Packages of the session that a requirement names with a version: they may be replaced."""
    named = {key_of(re.split(r"[^A-Za-z0-9._-]", one)[0]) for one in requirements if "=" in one or
             "<" in one or ">" in one}  # fmt: skip
    return named & has.keys()


# -- install: unpack what was chosen --------------------------------------------------------------


def _install(job: dict[str, Any]) -> dict[str, Any]:
    shutil.rmtree(LAYER, ignore_errors=True)
    LAYER.mkdir()
    lines = []
    for pin in job["pins"]:
        hashes = "".join(f" --hash={one}" for one in pin["hashes"])
        lines.append(f"{pin['name']}=={pin['version']}{hashes}\n")
    (WORK / "chosen.txt").write_text("".join(lines))
    _uv(["pip", "install", "--no-deps", "--require-hashes", "--target", str(LAYER),
         "--link-mode", "hardlink", "-r", str(WORK / "chosen.txt")], job)  # fmt: skip
    shutil.rmtree(WORK, ignore_errors=True)
    for leftover in (".lock", ".gitignore"):
        (LAYER / leftover).unlink(missing_ok=True)
    _say({"progress": "compiling modules"})
    subprocess.run(
        [PYTHON, "-I", "-m", "compileall", "-q", "-q", "--invalidation-mode", "unchecked-hash",
         "-s", str(LAYER), "-p", POINT, str(LAYER)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment({}), check=False,
    )  # fmt: skip
    return {}


# -- where the index keeps its files --------------------------------------------------------------


def _hosts(job: dict[str, Any]) -> dict[str, Any]:
    """The hosts that the index's pages of these packages lead to: files often lie on others."""
    from concurrent.futures import ThreadPoolExecutor

    _certificates(job)
    names = {key_of(re.split(r"[^A-Za-z0-9._-]", one)[0]) for one in job["requirements"]}
    bases = [job["index_url"], *job.get("extra_index_urls", [])]
    pages = [f"{base.rstrip('/')}/{name}/" for base in bases for name in sorted(names)]
    with ThreadPoolExecutor(8) as pool:
        found = set().union(*pool.map(hosts_of, pages))
    return {"hosts": sorted(found)[:16]}


# -- uv -------------------------------------------------------------------------------------------


def _certificates(job: dict[str, Any]) -> None:
    if job.get("certificates"):
        path = HOME / "certificates.pem"
        path.write_text(job["certificates"])
        os.environ["SSL_CERT_FILE"] = str(path)


def _environment(job: dict[str, Any]) -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
            "http_proxy", "https_proxy", "all_proxy", "SSL_CERT_FILE")  # fmt: skip
    out = {name: os.environ[name] for name in kept if name in os.environ}
    out |= {"TMPDIR": str(WORK), "UV_HTTP_TIMEOUT": "30", "UV_CONCURRENT_DOWNLOADS": "8",
            "UV_HTTP_RETRIES": "1", "NO_COLOR": "1"}  # fmt: skip
    return out


def _uv(arguments: list[str], job: dict[str, Any]) -> None:
    command = [UV, *arguments, "--python", PYTHON, "--no-config", "--no-python-downloads",
               "--no-progress", "--color", "never", "--cache-dir", str(WORK / "cache")]  # fmt: skip
    if not job.get("allow_sdist"):
        command += ["--only-binary", ":all:"]
    if job.get("index_url"):
        command += ["--default-index", job["index_url"]]
        for extra in job.get("extra_index_urls", []):
            command += ["--index", extra]
    else:
        command.append("--no-index")
    if job.get("find_links"):
        command += ["--find-links", POINT]
    if job["action"] == "resolve" or job.get("allow_sdist"):
        command += ["--find-links", str(OFFERS)]
    if "SSL_CERT_FILE" in os.environ:
        command.append("--system-certs")
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, errors="replace", env=_environment(job), cwd=str(HOME),
    )  # fmt: skip
    said: list[str] = []
    assert process.stderr is not None
    for line in process.stderr:
        if len(said) < 400:
            said.append(line.rstrip())
        if _PROGRESS.match(line):
            _say({"progress": line.strip()[:200]})
    if process.wait() != 0:
        raise meaning_of("\n".join(said))
