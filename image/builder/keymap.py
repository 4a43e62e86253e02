# SPDX-License-Identifier: Apache-2.0
"""The keymap that every X server compiles when it starts, compiled once.

A server runs `xkbcomp` and waits for it, a third of its start. Here a script stands in its place
that knows the default keymap by its text; anything else goes to the compiler itself.
"""

from pathlib import Path

from . import inside
from .progress import BuildError

PROGRAM = "usr/bin/xkbcomp"
COMPILER = "usr/libexec/xkbcomp"
COMPILED = "usr/share/vitrine/keymap.xkm"

# What Xvfb of this release asks for when it is told nothing about keyboards.
TEXT = """\
xkb_keymap "default" {
    xkb_keycodes             { include "evdev+aliases(qwerty)" };
    xkb_types                { include "complete" };
    xkb_compatibility        { include "complete" };
    xkb_symbols              { include "pc+us+inet(evdev)" };
    xkb_geometry             { include "pc(pc105)" };
};
"""

SCRIPT = f"""\
#!/bin/sh
for out; do :; done
case $out in */server-*.xkm) ;; *) exec /{COMPILER} "$@" ;; esac
asked=
while IFS= read -r line; do asked="$asked$line
"; done
if [ "$asked" = '{TEXT}' ]; then exec cat /{COMPILED} >"$out"; fi
exec /{COMPILER} "$@" <<END
$asked
END
"""


def build(root: Path) -> None:
    """Needs `inside.possible(root)`."""
    program, compiler, compiled = root / PROGRAM, root / COMPILER, root / COMPILED
    for file in (compiler, compiled):
        file.parent.mkdir(parents=True, exist_ok=True)
    text = compiled.with_suffix(".txt")
    text.write_text(TEXT)
    flags = ["-w", "0", "-R/usr/share/X11/xkb", "-xkm"]
    files = [f"/{text.relative_to(root)}", f"/{COMPILED}"]
    done = inside.run(root, ["xkbcomp", *flags, *files], writable=True, env={})
    text.unlink()
    if done.returncode or not compiled.exists():
        raise BuildError(
            f"xkbcomp fails inside the image: {done.stderr.strip()[-500:]}",
            "see image/builder/keymap.py",
        )
    program.rename(compiler)
    program.write_text(SCRIPT)
    program.chmod(0o755)
