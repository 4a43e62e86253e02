# SPDX-License-Identifier: Apache-2.0
"""uv, as an installation runs it, and what it says on the way."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from .installer_errors import meaning_of
from .installer_offers import POINT
from .sealed import __builtins__  # noqa: F401

HOME = Path("/home/sandbox")
WORK = HOME / "work"  # cache and lists
OFFERS = WORK / "image"
UV = "/usr/local/bin/uv"
PYTHON = "/usr/bin/python3"

_PROGRESS = re.compile(r"^(Resolved|Downloading|Downloaded|Building|Built|Prepared|Installed)\b")


def say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def certificates(job: dict[str, Any]) -> None:
    if job.get("certificates"):
        path = HOME / "certificates.pem"
        path.write_text(job["certificates"])
        os.environ["SSL_CERT_FILE"] = str(path)


def environment(job: dict[str, Any]) -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
            "http_proxy", "https_proxy", "all_proxy", "SSL_CERT_FILE")  # fmt: skip
    out = {name: os.environ[name] for name in kept if name in os.environ}
    out |= {"TMPDIR": str(WORK), "UV_HTTP_TIMEOUT": "30", "UV_CONCURRENT_DOWNLOADS": "8",
            "UV_HTTP_RETRIES": "1", "NO_COLOR": "1"}  # fmt: skip
    return out


def run_uv(arguments: list[str], job: dict[str, Any]) -> None:
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
        text=True, errors="replace", env=environment(job), cwd=str(HOME),
    )  # fmt: skip
    said: list[str] = []
    assert process.stderr is not None
    for line in process.stderr:
        if not _PROGRESS.match(line):
            if len(said) < 400:
                said.append(line.rstrip())
        elif not job.get("silent"):
            say({"progress": line.strip()[:200]})
    if process.wait() != 0:
        raise meaning_of("\n".join(said))
