# SPDX-License-Identifier: Apache-2.0
"""What a built image must hold; skipped where there is none, or where it cannot be entered.

VITRINE_IMAGE names another image than build/image.
"""

import json
import os
import stat
import unittest
from pathlib import Path

from builder import inside, keymap, manifest

IMAGE = Path(os.environ.get("VITRINE_IMAGE") or Path(__file__).parents[2] / "build/image")
ROOT = IMAGE / "root"

IMPORTS = """
import numpy, numpy.testing, pandas, pandas.testing, scipy.stats, sklearn.utils.estimator_checks
import matplotlib.pyplot, matplotlib.testing, seaborn, statsmodels.api, sympy, networkx, PIL.Image
import RestrictedPython, smolagents, openpyxl, lxml.etree, bs4, yaml, jinja2, tabulate, requests
import httpx, dateutil, tqdm, rich, pydantic, psutil, pytest, pip, pygame
import pyarrow.parquet, pyarrow.dataset, plotly.express, cv2, xlsxwriter, docx, pptx, pypdf
import reportlab.pdfgen.canvas, duckdb, sqlalchemy, nltk, comm, jedi, traitlets
import tkinter, turtle, ssl, sqlite3, curses, readline, venv, ensurepip, zoneinfo, lzma, bz2, ctypes
assert ssl.create_default_context().cert_store_stats()["x509_ca"] > 50
zoneinfo.ZoneInfo("Europe/Rome")
import importlib.metadata
names = {"numpy": numpy.__version__, "pandas": pandas.__version__}
print(all(importlib.metadata.version(name) == version for name, version in names.items()))
"""

WINDOW = """
mkdir /tmp/.X11-unix
Xvfb :99 -screen 0 640x480x24 -extension GLX -nolisten tcp -displayfd 3 3>/tmp/ready 2>/tmp/log &
for _ in $(seq 100); do [ -s /tmp/ready ] && break; sleep 0.05; done
export DISPLAY=:99
python3 -c 'import tkinter as tk; r = tk.Tk(); r.update(); print(r.winfo_screenwidth())' ||
  cat /tmp/log
kill $!
"""

PIPELINE = r"""
cd /tmp
printf 'b 2\na 1\n' | sort | awk '{print $2}' | sed s/1/one/ | xargs echo
tar cJf t.txz -C /etc passwd && tar tf t.txz | grep -c passwd
zip -q z.zip t.txz && unzip -l z.zip | tail -1 | awk '{print $2}'
ps -e | grep -c sh
echo '{"a": 3}' | jq .a
git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m one
git log --format=%s
ffmpeg -v error -f lavfi -i testsrc=d=1 -y t.mp4 && ffprobe -v error -show_entries stream=codec_name \
  -of csv=p=0 t.mp4
date -d @0 +%Z
"""

# Libraries in *.libs find each other through the one that loads them. One of those, moved away, is
# the control: it must be reported.
LIBRARIES = r"""
cp /usr/local/lib/python3*/dist-packages/pygame.libs/libSDL2_image* /tmp/control.so
loader=$(echo /lib*/ld-linux-*.so.*)
find /tmp/control.so /usr/bin /usr/lib /usr/local -type f | grep -E '^/usr/bin/|[.]so' |
  grep -v '[.]libs/' | while read -r file; do
    LD_TRACE_LOADED_OBJECTS=1 $loader "$file" 2>/dev/null | sed -n "s|not found.*|$file|p"
  done
"""

FONTS = """
import json, pathlib
lists = list(pathlib.Path("/usr/share/vitrine/matplotlib").glob("fontlist-*.json"))
paths = [font["fname"] for font in json.loads(lists[0].read_text())["ttflist"]]
print(len(lists), any(path.startswith("/usr/share/fonts/") for path in paths))
"""

PLOT = """
import io, warnings
warnings.simplefilter("error")
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.title("caffè 你好 こんにちは 안녕 😀 $x^2$")
out = io.BytesIO(); plt.savefig(out); print(out.getvalue()[1:4].decode())
"""


@unittest.skipUnless((IMAGE / "manifest.json").exists(), f"no image at {IMAGE}")
class Tree(unittest.TestCase):
    def test_is_safe_to_mount(self) -> None:
        self.assertEqual(manifest.census(ROOT).unsafe, "")

    def test_is_readable_by_all_and_has_no_capabilities(self) -> None:
        for folder, directories, files in os.walk(ROOT):
            for name in [*directories, *files]:
                path = os.path.join(folder, name)
                mode = os.lstat(path).st_mode
                if stat.S_ISLNK(mode):
                    continue
                wanted = 0o755 if stat.S_ISDIR(mode) or mode & 0o111 else 0o644
                self.assertEqual(stat.S_IMODE(mode), wanted, path)
                self.assertNotIn("security.capability", os.listxattr(path), path)

    def test_has_no_compiler_no_sys_and_no_package_manager(self) -> None:
        for name in ("usr/bin/cc", "usr/bin/gcc", "usr/bin/dpkg", "usr/bin/apt-get", "sys"):
            self.assertFalse((ROOT / name).exists(), name)

    def test_has_compiled_python_that_never_looks_at_the_source(self) -> None:
        compiled = list((ROOT / "usr").rglob("*.pyc"))
        self.assertGreater(len(compiled), 3000)
        for path in compiled:
            with path.open("rb") as file:
                flags = int.from_bytes(file.read(8)[4:], "little")
            self.assertEqual(flags, 0b01, path)

    def test_holds_what_the_manifest_says(self) -> None:
        made = json.loads((IMAGE / "manifest.json").read_text())
        site = ROOT / f"usr/local/lib/python{'.'.join(made['python'].split('.')[:2])}/dist-packages"

        self.assertTrue(made["wheels"])
        for name, version in made["wheels"].items():
            self.assertTrue(list(site.glob(f"*-{version}.dist-info")), name)
        for name in made["packages"]:
            self.assertTrue(os.path.lexists(ROOT / "usr/share/doc" / name / "copyright"), name)


# Without the compiler: only a server that asks for what is there can start.
KEYMAP = """
import ctypes, os, subprocess
assert ctypes.CDLL(None).mount(b"none", b"/usr/libexec", b"tmpfs", 0, None) == 0
ready, told = os.pipe()
server = subprocess.Popen(["Xvfb", "-displayfd", str(told), "-nolisten", "tcp"], pass_fds=[told],
                          stderr=subprocess.PIPE)
os.close(told)
number = os.read(ready, 9)
server.kill()
print("started" if number else server.stderr.read())
"""
OTHER_KEYMAP = f"""
compile() {{ xkbcomp -w 1 -R/usr/share/X11/xkb -xkm - -em1 "it says" /tmp/server-9.xkm; }}
differs() {{ cmp -s /tmp/server-9.xkm /{keymap.COMPILED} && echo the same keymap || echo another keymap; }}
cat >/tmp/asked <<'END'
{keymap.TEXT}END
sed s/+us+/+de+/ /tmp/asked | compile && differs
compile </tmp/asked && differs
"""


@unittest.skipUnless(
    (IMAGE / "manifest.json").exists() and inside.possible(ROOT),
    "no image, or it cannot be entered",
)
class Inside(unittest.TestCase):
    def output(self, *command: str) -> str:
        done = inside.run(ROOT, list(command))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_imports_all_it_promises(self) -> None:
        self.assertTrue(self.output("python3", "-W", "ignore", "-c", IMPORTS).endswith("True"))

    def test_runs_shell_pipelines(self) -> None:
        lines = self.output("sh", "-c", PIPELINE).splitlines()

        self.assertEqual(lines[:3], ["one 2", "1", "1"])
        self.assertEqual(lines[4:], ["3", "one", "h264", "UTC"])

    def test_runs_the_x_server(self) -> None:
        done = inside.run(ROOT, ["Xvfb", "-help"])

        self.assertIn("-fbdir", done.stdout + done.stderr)

    def test_x_servers_find_their_keymap_compiled(self) -> None:
        self.assertEqual(self.output("python3", "-c", KEYMAP), "started")

    def test_other_keymaps_are_compiled(self) -> None:
        lines = self.output("sh", "-c", OTHER_KEYMAP).splitlines()

        self.assertEqual(lines, ["another keymap", "the same keymap"])

    def test_opens_a_window(self) -> None:
        self.assertEqual(self.output("sh", "-c", WINDOW), "640")

    def test_knows_its_fonts_without_looking(self) -> None:
        self.assertEqual(self.output("python3", "-c", FONTS), "1 True")
        self.assertIn("Liberation Sans", self.output("fc-match", "Arial"))
        self.assertEqual(self.output("sh", "-c", "fc-list | wc -l; ls -A ~").split()[1:], [])

    def test_plots_any_script_without_a_warning(self) -> None:
        self.assertEqual(self.output("python3", "-c", PLOT), "PNG")

    def test_makes_a_venv_with_pip_offline(self) -> None:
        self.assertIn(
            "pip", self.output("sh", "-c", "python3 -m venv ~/v && ~/v/bin/pip --version")
        )

    def test_finds_every_library_its_programs_need(self) -> None:
        missing = self.output("sh", "-c", LIBRARIES).splitlines()

        self.assertEqual({line.split()[-1] for line in missing}, {"/tmp/control.so"})

    def test_cannot_be_written_to(self) -> None:
        done = inside.run(ROOT, ["sh", "-c", "echo x > /etc/passwd"])

        self.assertIn("Read-only", done.stderr)


if __name__ == "__main__":
    unittest.main()
