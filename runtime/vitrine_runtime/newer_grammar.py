# SPDX-License-Identifier: Apache-2.0
"""A SyntaxError of code that a newer Python would accept says which Python this is.

The interpreter cannot know: to it the new grammar is an error like any other. A few patterns around
the reported line tell most cases; what matches none of them stays as it is.
"""

from __future__ import annotations

import re
import sys

from .sealed import __builtins__  # noqa: F401

# (first version, what it is, a pattern for the line, or one for the message)
_LINES = (
    ((3, 12), "type parameters (`def f[T]`)", r"^\s*(async\s+)?(def|class)\s+\w+\s*\["),
    ((3, 12), "the statement `type`", r"^\s*type\s+\w+\s*(\[.*\])?\s*="),
    ((3, 14), 'a template string (`t"..."`)', r"(?<![\w'\"])([tT][rR]?|[rR][tT])(['\"])"),
)
_MESSAGES = (
    ((3, 12), "this f-string", r"^f-string"),
    ((3, 14), "`except A, B` without parentheses", r"^multiple exception types must be"),
    ((3, 13), "a default of a type parameter", r"^non-default type parameter"),
)
_QUOTES_AGAIN = re.compile(r"""(?i)(?<![\w])(f|rf|fr)(['"])[^'"]*\{[^{}]*\2""")


def explain(error: SyntaxError, version: tuple[int, int] = sys.version_info[:2]) -> None:
    """Adds a note if the grammar of a version after `version` is the likely cause."""
    line, message = error.text or "", error.msg or ""
    found = [(since, what) for since, what, rule in _LINES if re.search(rule, line)]
    found += [(since, what) for since, what, rule in _MESSAGES if re.search(rule, message)]
    if _QUOTES_AGAIN.search(line):
        found.append(((3, 12), "an f-string with its own quotes inside"))
    for since, what in found:
        if since > version:
            error.add_note(
                f"This is Python {version[0]}.{version[1]}; "
                f"{what} needs Python {since[0]}.{since[1]}."
            )
            return
