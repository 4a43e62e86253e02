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
from typing import Any

from .index_pages import hosts_of
from .installer_errors import Failed
from .installer_offers import POINT, key_of
from .installer_resolve import resolve
from .installer_uv import HOME, PYTHON, WORK, certificates, environment, run_uv, say
from .sealed import __builtins__  # noqa: F401

LAYER = HOME / "layer"  # the tree that becomes the layer


def main() -> None:
    for name in ("NO_PROXY", "no_proxy"):  # an index may be on the host's loopback, not on ours
        os.environ.pop(name, None)
    job: dict[str, Any] = {}
    try:
        job = json.load(sys.stdin)
        actions = {
            "inventory": _inventory,
            "resolve": resolve,
            "install": _install,
            "hosts": _hosts,
        }
        say({"done": actions[job["action"]](job)})
    except Failed as failed:
        say({"failed": {"code": failed.code, "detail": _about_limit(failed, job)[:4000]}})
    except OSError as error:
        full = Failed("too_big", "") if error.errno == 28 else Failed("failed", str(error))
        say({"failed": {"code": full.code, "detail": _about_limit(full, job)[:1000]}})


def _about_limit(failed: Failed, job: dict[str, Any]) -> str:
    """What fills the disk is not what uv says last."""
    if failed.code != "too_big" or failed.detail.startswith("needs "):
        return failed.detail
    from .wheel_sizes import limit_shown

    limit = limit_shown(int(job.get("limit_bytes") or 1 << 30))
    return f"the packages take more than the limit of {limit} (--layer-mb) allows"


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


# -- install: unpack what was chosen --------------------------------------------------------------


def _install(job: dict[str, Any]) -> dict[str, Any]:
    shutil.rmtree(LAYER, ignore_errors=True)
    LAYER.mkdir()
    lines = []
    for pin in job["pins"]:
        hashes = "".join(f" --hash={one}" for one in pin["hashes"])
        lines.append(f"{pin['name']}=={pin['version']}{hashes}\n")
    (WORK / "chosen.txt").write_text("".join(lines))
    command = ["pip", "install", "--no-deps", "--require-hashes", "--target", str(LAYER),
               "--link-mode", "hardlink", "-r", str(WORK / "chosen.txt")]  # fmt: skip
    apart = {job["index_for"][pin["index"]] for pin in job["pins"] if pin.get("index")}
    for url in sorted(apart):  # every version and hash is given: it does not matter who has more
        command += ["--index", url]
    run_uv([*command, *(["--index-strategy", "unsafe-best-match"] if apart else [])], job)
    shutil.rmtree(WORK, ignore_errors=True)
    for leftover in (".lock", ".gitignore"):
        (LAYER / leftover).unlink(missing_ok=True)
    say({"progress": "compiling modules"})
    subprocess.run(
        [PYTHON, "-I", "-m", "compileall", "-q", "-q", "--invalidation-mode", "unchecked-hash",
         "-s", str(LAYER), "-p", POINT, str(LAYER)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment({}), check=False,
    )  # fmt: skip
    return {}


# -- where the index keeps its files --------------------------------------------------------------


def _hosts(job: dict[str, Any]) -> dict[str, Any]:
    """The hosts that the index's pages of these packages lead to: files often lie on others."""
    from concurrent.futures import ThreadPoolExecutor

    certificates(job)
    names = {key_of(re.split(r"[^A-Za-z0-9._-]", one)[0]) for one in job["requirements"]}
    bases = [job["index_url"], *job.get("extra_index_urls", [])]
    pages = [f"{base.rstrip('/')}/{name}/" for base in bases for name in sorted(names)]
    pages += [f"{base.rstrip('/')}/{name}/" for name, base in job.get("index_for", {}).items()]
    with ThreadPoolExecutor(8) as pool:
        found = set().union(*pool.map(hosts_of, pages))
    return {"hosts": sorted(found)[:16]}
