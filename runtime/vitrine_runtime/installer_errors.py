# SPDX-License-Identifier: Apache-2.0
"""What uv says when it cannot install, and what that means."""

from __future__ import annotations

import re

from .sealed import __builtins__  # noqa: F401

# The first that fits.
MEANINGS = (
    ("too_big", r"No space left on device|os error 28"),
    ("hash_mismatch", r"[Hh]ash mismatch"),
    ("bad_package", r"[Pp]ath traversal|outside of the target|[Ii]nvalid (zip|wheel)|is corrupt|"
     r"CRC|Failed to (extract|read) archive|[Uu]nsafe|not a valid wheel|missing a \.dist-info"),
    ("needs_compiler", r"Failed to (download and )?build[\s\S]*("
     r"command '[^']*(gcc|g\+\+|cc|clang|gfortran)' failed|Unknown compiler|[Nn]o .{0,20}compiler|"
     r"No such file or directory: '[^']*(gcc|cc|g\+\+|clang|make|gfortran)'|"
     r"(can't|cannot|could not|unable to) find .{0,20}compiler|Rust|cargo|cmake|CMake|"
     r"(gcc|g\+\+|cc|make|ninja)['`\"]?: (command )?not found)"),
    ("build_failed", r"Failed to (download and )?build|build backend returned an error"),
    ("only_sdist", r"building from source is disabled"),
    ("no_wheel", r"no wheels|no usable wheels|only has wheels|"
     r"no (matching )?(Python )?(ABI|platform) tag|has no (usable )?wheels|no source distribution|"
     r"Python requirement|Python>=|does not satisfy Python"),
    ("offline", r"returned a (401|403|407|5\d\d)|lack of valid authentication credentials"),
    ("package_not_found", r"was not found in the (package registry|provided package locations)|"
     r"there are no versions of|no version of"),
    ("offline", r"error sending request|dns error|[Cc]onnect|tunnel|timed out|Failed to fetch|"
     r"Could not connect|Request failed|[Nn]etwork"),
    ("conflict", r"No solution found|incompatible|unsatisfiable|conflict"),
)  # fmt: skip


_SOURCE = re.compile(r"Wheels are required for `([A-Za-z0-9._-]+)`")
_BUILT = re.compile(r"Failed to (?:download and )?build `([A-Za-z0-9._=+!-]+)`")


class Failed(Exception):
    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


def meaning_of(said: str) -> Failed:
    text = re.sub(
        r"://[^/\s@]+@", "://", said.replace("\u2570\u2500\u25b6", "").replace("\u00d7", "")
    )
    text = re.sub(r"/home/sandbox/\S*", "(a file)", text)
    text = re.sub(r"^error: |\n\s*cause: ", lambda m: "" if m[0] == "error: " else ": ", text)
    text = re.sub(r"[ \t]+", " ", text).strip()
    code = next((code for code, fits in MEANINGS if re.search(fits, text)), "failed")
    if code == "package_not_found" and "depends on" in text and "was not found" not in text:
        code = "conflict"
    if code == "only_sdist":
        names = ", ".join(dict.fromkeys(_SOURCE.findall(text)))
        text = text.partition("\n\nhint:")[0]  # which is about arguments of uv
        text = f"{names or 'a package'} has only a source distribution for this Python: {text}"
    if code == "needs_compiler":
        names = ", ".join(dict.fromkeys(_BUILT.findall(text)))
        text = f"building {names or 'a package'} needs a compiler, which the image has not: {text}"
    return Failed(code, text or "uv gave no reason")
