# SPDX-License-Identifier: Apache-2.0
"""Which versions an installation gets: uv decides, bound by what image and session have."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from .installer_errors import Failed
from .installer_offers import key_of, offer_built, offer_image, packages_here
from .installer_uv import OFFERS, WORK, certificates, run_uv, say
from .sealed import __builtins__  # noqa: F401

WHOLE = 4 << 20  # bytes of a package of the image that a build may get

_PIN = re.compile(r"^([A-Za-z0-9._-]+)(\[[^\]]*\])?==(\S+)")


def resolve(job: dict[str, Any]) -> dict[str, Any]:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    certificates(job)
    here = packages_here(bool(job.get("environment")))
    image = {name: version for name, (version, _) in here.items()}
    has = dict(pin.split("==", 1) for pin in job.get("pins", []))  # of the session's own layers
    offer_image(OFFERS, WHOLE if job.get("allow_sdist") else 0, bool(job.get("environment")))
    offer_built(OFFERS, job.get("built", []))
    policy: dict[str, str] = job.get("index_for") or {}
    named = {key_of(re.split(r"[^A-Za-z0-9._-]", one)[0]) for one in job["requirements"]}
    chosen, shadows = _compile_apart(job, image, has, named & policy.keys())
    needed = {one["name"] for one in chosen} & policy.keys()
    if needed - named:  # what others need comes from its own index, too
        chosen, shadows = _compile_apart(job, image, has, needed)
    _check_sizes([one for one in chosen if has.get(one["name"]) != one["version"]], job)
    return {"pins": chosen, "shadows": shadows}


def _compile_apart(
    job: dict[str, Any], image: dict[str, str], has: dict[str, str], apart: set[str]
) -> tuple[list[dict[str, Any]], bool]:
    """`apart` are packages with an index of their own. Where it does not have them, or does not
    answer, they come from the main one."""
    if apart:
        try:
            return _compile(job, image, has, apart)
        except Failed:
            say({"progress": f"using the main index for {', '.join(sorted(apart))}"})
    return _compile(job, image, has, set())


def _compile(
    job: dict[str, Any], image: dict[str, str], has: dict[str, str], apart: set[str]
) -> tuple[list[dict[str, Any]], bool]:
    """The packages, and whether they need other versions than the image has."""
    pins = [f"{name}=={version}" for name, version in sorted((image | has).items())]
    (WORK / "image.txt").write_text("".join(pin + "\n" for pin in pins))
    wanted = _wanted(job, job["requirements"], apart)
    command = ["pip", "compile", str(wanted), "--generate-hashes", "--no-header", "--no-annotate",
               "--no-emit-index-url", "--no-strip-extras", "--upgrade",
               "--output-file", str(WORK / "pins.txt")]  # fmt: skip
    shadows = False
    try:
        run_uv([*command, "--constraints", str(WORK / "image.txt")], job)
    except Failed as failed:
        if failed.code not in ("conflict", "package_not_found", "no_wheel"):
            raise
        changed = _changed(job["requirements"], has)
        if has and not changed:
            raise
        if has:  # what else the session has stays as it is, and what it needs is looked at again
            rest = [f"{name}=={version}" for name, version in has.items() if name not in changed]
            _wanted(job, [*job["requirements"], *rest], apart)
            pins = [pin for pin in pins if pin.split("==")[0] not in changed]
            (WORK / "image.txt").write_text("".join(pin + "\n" for pin in pins))
        try:
            run_uv([*command, "--constraints", str(WORK / "image.txt")] if has else command, job)
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
            if chosen[-1]["name"] in apart:
                chosen[-1]["index"] = chosen[-1]["name"]
    return sorted(chosen, key=lambda one: str(one["name"])), shadows


def _wanted(job: dict[str, Any], requirements: list[str], apart: set[str]) -> Path:
    """The requirements as a project, which can say where a package comes from."""
    named = {key_of(re.split(r"[^A-Za-z0-9._-]", one)[0]) for one in requirements}
    needs = [*requirements, *sorted(apart - named)]
    text = f'[project]\nname = "wanted"\nversion = "0"\ndependencies = {json.dumps(needs)}\n'
    for name in sorted(apart):
        index = json.dumps(f"for-{name}")
        text += f"[tool.uv.sources.{json.dumps(name)}]\nindex = {index}\n"
        text += f"[[tool.uv.index]]\nname = {index}\nurl = {json.dumps(job['index_for'][name])}\n"
        text += "explicit = true\n"
    path = WORK / "pyproject.toml" if apart else WORK / "wanted.txt"
    path.write_text(text if apart else "".join(line + "\n" for line in requirements))
    return path


def _check_sizes(chosen: list[dict[str, Any]], job: dict[str, Any]) -> None:
    """Refuses what is known to be too big, before it is downloaded."""
    if not chosen or not job.get("index_url") or not job.get("limit_bytes"):
        return
    import tomllib

    from . import wheel_sizes

    apart = {str(one["name"]) for one in chosen if one.get("index")}
    pins = [f"{one['name']}=={one['version']}" for one in chosen]
    command = ["pip", "compile", str(_wanted(job, pins, apart)), "--no-deps", "--format",
               "pylock.toml", "--output-file", str(WORK / "pylock.toml")]  # fmt: skip
    try:  # from uv's cache: it has just read these pages
        run_uv(command, job | {"silent": True})
        lock = tomllib.loads((WORK / "pylock.toml").read_text())
    except (Failed, OSError, ValueError):
        return  # the installation says what is wrong
    wheels = wheel_sizes.urls_of(lock, {str(one["name"]) for one in chosen})
    wheel_sizes.check(wheels, int(job["limit_bytes"]))


def _changed(requirements: list[str], has: dict[str, str]) -> set[str]:
    """Packages of the session that a requirement names with a version: they may be replaced."""
    named = {key_of(re.split(r"[^A-Za-z0-9._-]", one)[0]) for one in requirements if "=" in one or
             "<" in one or ">" in one}  # fmt: skip
    return named & has.keys()
