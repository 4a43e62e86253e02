# SPDX-License-Identifier: Apache-2.0
"""Fonts found at once: caches made by the image's own programs, with paths as seen inside."""

import re
from pathlib import Path

from . import inside
from .progress import BuildError

FONT_LIST_DIR = "usr/share/vitrine/matplotlib"

# Family -> its file, for what DejaVu Sans cannot draw: Chinese, Japanese, Korean; emoji.
FALLBACKS = {
    "WenQuanYi Micro Hei": "wqy-microhei.ttc",
    "Symbola": "Symbola*.ttf",
}


def fallback_families(root: Path) -> list[str]:
    fonts = root / "usr/share/fonts"
    return [family for family, pattern in FALLBACKS.items() if any(fonts.rglob(pattern))]


def set_matplotlib_fallback(root: Path, site: Path) -> list[str]:
    """Titles in any script instead of boxes. `sans-serif` stays first: user settings count."""
    families = fallback_families(root)
    settings = site / "matplotlib/mpl-data/matplotlibrc"
    line = f"font.family: {', '.join(['sans-serif', *families])}"
    if settings.exists():
        text = settings.read_text()
        settings.write_text(re.sub(r"^#? *font\.family *:.*$", line, text, flags=re.MULTILINE))
    return families


def build_caches(root: Path) -> None:
    """Needs `inside.possible(root)`."""
    (root / FONT_LIST_DIR).mkdir(parents=True, exist_ok=True)
    _inside(root, ["fc-cache", "--system-only", "--force"], {})
    _inside(
        root,
        ["python3", "-c", "import matplotlib.font_manager"],
        {"MPLCONFIGDIR": "/" + FONT_LIST_DIR, "MPLBACKEND": "agg", "PYTHONHASHSEED": "0"},
    )
    if not list((root / FONT_LIST_DIR).glob("fontlist-*.json")):
        raise BuildError("matplotlib wrote no font list", "see builder/fonts.py")


def _inside(root: Path, command: list[str], env: dict[str, str]) -> None:
    done = inside.run(root, command, writable=True, env=env)
    if done.returncode:
        raise BuildError(
            f"{command[0]} fails inside the image: {done.stderr.strip()[-500:]}",
            "a library is missing: see the exclusions in image/packages.txt",
        )
