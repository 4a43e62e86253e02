# SPDX-License-Identifier: Apache-2.0
"""Reports of the sanitizers in a server's log (docs/decisions/0040)."""

from __future__ import annotations

import re

BEGIN = re.compile(
    r"^.*(ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|: runtime error: )", re.MULTILINE
)


def report_in(log: str) -> str | None:
    """The log from its first report on; None if there is none."""
    found = BEGIN.search(log)
    return log[found.start() :][:20_000] if found else None
