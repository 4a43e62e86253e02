# SPDX-License-Identifier: Apache-2.0
"""What cannot be tested under the sanitizers (docs/decisions/0040)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SANITIZED = Path(os.environ.get("VITRINE_BUILD", "")).name == "sanitized"
judges_memory = pytest.mark.skipif(
    SANITIZED, reason="the address sanitizer keeps what the front has freed"
)
