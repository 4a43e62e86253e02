# SPDX-License-Identifier: Apache-2.0
"""The image's Python, as a program of this host: through the image's own loader and libraries."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

PROGRAM = """\
#!/bin/sh
exec "{loader}" --inhibit-cache --library-path "{libraries}" --argv0 "{program}" "{python}" "$@"
"""


def make(image: Path) -> Path:
    """A virtual environment of it, so that sys.executable is a program that runs, too."""
    root = image / "root"
    loaders = [*root.glob("usr/lib64/ld-linux*.so.*"), *root.glob("usr/lib/ld-linux*.so.*")]
    if not loaders:
        raise RuntimeError(f"no image in {image}: run ./dev image")
    place = Path(tempfile.mkdtemp(prefix="vitrine-python-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    (place / "pyvenv.cfg").write_text(
        f"home = {root}/usr/bin\ninclude-system-site-packages = true\n"
    )
    (place / "bin").mkdir()
    for name in ("python3", "python"):
        program = place / "bin" / name
        program.write_text(
            PROGRAM.format(
                loader=loaders[0],
                libraries=next(root.glob("usr/lib/*-linux-gnu*/libc.so.6")).parent,
                program=program,
                python=(root / "usr/bin/python3").resolve(),
            )
        )
        program.chmod(0o755)
    return place / "bin" / "python3"


def variables(image: Path) -> dict[str, str]:
    """Where its Tcl and Tk find their scripts, which must be of their version."""
    found = {}
    for name, script in (("TCL_LIBRARY", "tcl8.*/init.tcl"), ("TK_LIBRARY", "tk8.*/tk.tcl")):
        for path in image.glob(f"root/usr/share/tcltk/{script}"):
            found[name] = str(path.parent)
    return found
