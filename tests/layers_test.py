# SPDX-License-Identifier: Apache-2.0
"""The order of the layers in src/: an include may only point to what stands left of it.

Needs nothing but the standard library: `python3 tests/layers_test.py`, or pytest.
"""

import re
import shutil
import subprocess
import tempfile
import unittest
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SHARED = ["base", "model", "wire"]
# The system call filter of processes that read hostile bytes without the session's jail.
SEAL = ["seal"]
# Linked only into their own programs. `init` is pid 1 of a session: a program of one file.
PRIVILEGED = ["jail", "keeper", "zygote"]
FRONT = ["store", "backend", "display", "packages", "session", "provision", "service", "api", "app"]
# Programs of their own beside a session's display; they know the shared values and their libraries.
HELPERS = ["screen", "encoder"]
# The way to an index with credentials: the only program with TLS.
GATEWAY = ["gateway"]
ALONE = ["init"]
# The network proxy of a session: hostile bytes, no privilege.
PROXY = ["egress"]
# Fakes that the front's tests stand on; only tests include them, and no program links them.
TESTING = ["testing"]

# layer -> the layers it may include, besides itself
ALLOWED = {
    **{layer: set(SHARED[:i]) for i, layer in enumerate(SHARED)},
    **{layer: {"base"} for layer in SEAL},
    **{layer: set(SHARED + PRIVILEGED[:i]) for i, layer in enumerate(PRIVILEGED)},
    **{layer: set(SHARED + FRONT[:i]) for i, layer in enumerate(FRONT)},
    **{layer: set(SHARED) for layer in HELPERS},
    **{layer: set() for layer in ALONE},
    **{layer: set(SHARED) for layer in PROXY + GATEWAY},
    **{layer: set(SHARED + FRONT) for layer in TESTING},
}

for sealed in ("encoder", *PROXY, *GATEWAY, "keeper"):  # the keeper: its file servers
    ALLOWED[sealed] |= set(SEAL)
# A protocol knows the door and what it shows, and nothing of how it is done.
ALLOWED["api"] -= {"backend", "wire", "store"}
# Folders of these layers are adapters: each knows its layer, none knows another.
WITH_ADAPTERS = {"api"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)
STOPS_CLOCK = re.compile(r"\bstopped_at\b")
SOURCES = {".h", ".cc", ".c", ".hpp", ".cpp"}


def target_of(included: str, file: Path, src: Path) -> tuple[str, ...] | None:
    """The path below src/ that an include leads to; None for what is not in src/."""
    for start in (file.parent, src):
        path = (start / included).resolve()
        if path.is_relative_to(src) and path.exists():
            return path.relative_to(src).parts
    # A file that is not there (yet, or generated) still counts by its first folder.
    parts = tuple(included.split("/"))
    return parts if parts[0] in ALLOWED and len(parts) > 1 else None


def adapter_of(parts: tuple[str, ...]) -> str | None:
    """The adapter that a file belongs to; None for what adapters share."""
    return parts[1] if parts[0] in WITH_ADAPTERS and len(parts) > 2 else None


def may_include(layer: str, file: Path) -> set[str]:
    """The layers that a file of `layer` may include."""
    fakes = set(TESTING) if layer in FRONT and file.stem.endswith("_test") else set()
    return ALLOWED[layer] | {layer} | fakes


def violations(src: Path) -> list[str]:
    src = src.resolve()
    found = []
    for file in sorted(src.rglob("*")):
        if file.suffix not in SOURCES:
            continue
        parts = file.relative_to(src).parts
        layer = parts[0]
        if len(parts) < 2 or layer not in ALLOWED:
            found.append(f"{file.relative_to(src)}: belongs to no layer; name it in {__file__}")
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        for match in INCLUDE.finditer(text):
            target = target_of(match[1], file, src)
            if target is None:
                continue
            if target[0] not in may_include(layer, file):
                found.append(f'{file.relative_to(src)}: "{match[1]}" is not left of {layer}')
            elif target[0] == layer and adapter_of(target) not in (None, adapter_of(parts)):
                found.append(f'{file.relative_to(src)}: "{match[1]}" is another adapter')
        if layer not in TESTING and parts[1:] != ("clock.h",) and STOPS_CLOCK.search(text):
            found.append(f"{file.relative_to(src)}: only a test's fake stops the clock")
    return found


# Above the seam nobody knows how a session is isolated, but for those who wire and read options.
WIRING = {"keeper_main.cc", "keeper.h", "keeper.cc", "options.h"}


def seam_violations(src: Path) -> list[str]:
    """Files of the keeper that look behind keeper/isolation.h."""
    found = []
    for file in sorted((src / "keeper").iterdir()):
        if file.suffix not in SOURCES or file.name in WIRING:
            continue
        for match in INCLUDE.finditer(file.read_text(encoding="utf-8", errors="replace")):
            path = Path(match[1])
            if path.parent.name == "process":
                found.append(f'{file.name}: "{match[1]}" is behind the seam')
    return found


def link_map(program: Path) -> str:
    """The symbols of a program, or "" if it has none."""
    done = subprocess.run(["nm", "-C", program], capture_output=True, text=True, check=False)
    return done.stdout


def symbols_of(layers: list[str], names: str) -> list[str]:
    pattern = re.compile(rf"\bvitrine::({'|'.join(layers)})::\S*")
    return sorted({match[0] for match in pattern.finditer(names)})


def libraries(program: Path) -> set[str]:
    """The shared libraries a program asks for, without their versions."""
    done = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=False)
    return set(re.findall(r"\(NEEDED\).*\[([^\]]+?)\.so[^\]]*\]", done.stdout))


# program -> the layers of which nothing may be in it, and the libraries it may use
RUNTIME = {"libstdc++", "libgcc_s", "libm", "libc", "ld-linux-x86-64", "ld-linux-aarch64"}
# What the image has: the helper runs in its root.
IMAGE = {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}
PICTURES = {"libxxhash", "libisal", "libturbojpeg", "libwebp"}
TLS = {"libssl", "libcrypto"}
BOOST_JSON = {"libboost_json", "libboost_container"}
PROGRAMS = {
    "vitrine-front": (
        [*PRIVILEGED, *SEAL, *PROXY, *HELPERS, *GATEWAY, *TESTING],
        RUNTIME | BOOST_JSON | PICTURES | {"libsqlite3"},
    ),
    "vitrine-keeper": (
        [*FRONT, *PROXY, *HELPERS, *GATEWAY, "zygote", *TESTING],
        RUNTIME | {"libseccomp"},
    ),
    "vitrine-egress": ([*FRONT, *PRIVILEGED, *GATEWAY, *TESTING], RUNTIME | {"libseccomp"}),
    "vitrine-gateway": (
        [*FRONT, *PRIVILEGED, *PROXY, *HELPERS, *TESTING],
        RUNTIME | TLS | {"libseccomp"},
    ),
    "vitrine": (
        [*PRIVILEGED, "store", "backend", "session", "provision", "service", "api", *TESTING],
        RUNTIME | BOOST_JSON | {"libedit"},
    ),
    "vitrine-screen": (
        [*PRIVILEGED, *FRONT, "encoder", *TESTING],
        IMAGE | {"libxcb", "libxcb-xtest", "libxcb-composite"},
    ),
    "vitrine-encoder": (
        [*PRIVILEGED, *FRONT, "screen", *TESTING],
        RUNTIME | {"libseccomp", "libavcodec", "libavformat", "libavutil", "libswscale"},
    ),
}


class Layers(unittest.TestCase):
    def test_no_file_includes_what_stands_right_of_it(self) -> None:
        self.assertEqual(violations(ROOT / "src"), [])

    def test_sessions_know_no_isolation_from_inside(self) -> None:
        self.assertEqual(seam_violations(ROOT / "src"), [])

    def test_no_program_links_what_it_has_no_business_with(self) -> None:
        for name, (foreign, allowed) in PROGRAMS.items():
            with self.subTest(program=name):
                program = ROOT / "build" / "bin" / name
                if not program.exists() or shutil.which("nm") is None:
                    self.skipTest(f"no {name} has been built")

                names = link_map(program)

                self.assertIn("vitrine::", names, "stripped: cannot be checked")
                self.assertEqual(symbols_of(foreign, names), [])
                self.assertLessEqual(libraries(program) - {"libasan", "libubsan"}, allowed)


class TheCheckItself(unittest.TestCase):
    """A check that cannot fail is none: trees with one mistake each must be refused."""

    def setUp(self) -> None:
        self.src = Path(tempfile.mkdtemp(prefix="layers-"))
        self.addCleanup(shutil.rmtree, self.src)
        for layer in ALLOWED:
            (self.src / layer).mkdir()
            (self.src / layer / "own.h").write_text("#pragma once\n")

    def write(self, name: str, *includes: str) -> None:
        (self.src / name).write_text("".join(f"#include {text}\n" for text in includes))

    def test_accepts_own_folder_system_headers_and_what_stands_left(self) -> None:
        self.write("base/x.cc", '"base/own.h"', "<vector>", "<sys/socket.h>", "<linux/seccomp.h>")
        self.write("wire/x.cc", '"wire/own.h"', '"base/own.h"', '"model/own.h"')
        self.write("zygote/x.cc", '"jail/own.h"', '"keeper/own.h"', '"wire/own.h"')
        self.write("app/x.cc", '"api/own.h"', '"store/own.h"', '"base/own.h"')

        self.assertEqual(violations(self.src), [])

    def test_refuses_every_upward_include(self) -> None:
        order = SHARED + PRIVILEGED
        for below, above in pairwise(order):
            with self.subTest(below=below, above=above):
                self.write(f"{below}/up.cc", f'"{above}/own.h"')

                self.assertEqual(len(violations(self.src)), 1)

                (self.src / below / "up.cc").unlink()

    def test_refuses_an_upward_include_among_the_front_layers(self) -> None:
        self.write("store/up.h", '"session/own.h"')

        self.assertEqual(violations(self.src), ['store/up.h: "session/own.h" is not left of store'])

    def test_refuses_what_is_below_the_door_in_a_protocol(self) -> None:
        for below in ("backend", "wire", "store"):
            with self.subTest(below=below):
                self.write("api/bad.cc", f'"{below}/own.h"')

                self.assertEqual(
                    violations(self.src), [f'api/bad.cc: "{below}/own.h" is not left of api']
                )

    def test_refuses_an_adapter_that_knows_another(self) -> None:
        for adapter in ("openenv", "native"):
            (self.src / "api" / adapter).mkdir()
            self.write(f"api/{adapter}/own.h", '"api/own.h"')
        self.write("api/native/good.cc", '"api/native/own.h"', '"api/own.h"', '"service/own.h"')
        self.write("api/native/bad.cc", '"api/openenv/own.h"')
        self.write("api/shared.cc", '"api/openenv/own.h"')

        self.assertEqual(
            violations(self.src),
            [
                'api/native/bad.cc: "api/openenv/own.h" is another adapter',
                'api/shared.cc: "api/openenv/own.h" is another adapter',
            ],
        )

    def test_refuses_privileged_code_in_every_front_layer(self) -> None:
        for front in FRONT:
            for leaf in PRIVILEGED:
                with self.subTest(front=front, leaf=leaf):
                    self.write(f"{front}/bad.cc", f'"{leaf}/own.h"')

                    self.assertEqual(len(violations(self.src)), 1)

                    (self.src / front / "bad.cc").unlink()

    def test_refuses_front_code_in_the_privileged_layers(self) -> None:
        self.write("keeper/bad.cc", '"session/own.h"')

        self.assertEqual(len(violations(self.src)), 1)

    def test_refuses_a_detour_by_dots_or_angle_brackets(self) -> None:
        self.write("base/dots.cc", '"../wire/own.h"')
        self.write("base/angle.cc", "<wire/own.h>")
        self.write("base/later.cc", '"jail/not_written_yet.h"')

        self.assertEqual(len(violations(self.src)), 3)

    def test_lets_only_the_fronts_tests_include_the_fakes(self) -> None:
        self.write("session/x_test.cc", '"testing/own.h"')
        self.write("session/x.cc", '"testing/own.h"')
        self.write("keeper/x_test.cc", '"testing/own.h"')

        self.assertEqual(
            violations(self.src),
            [
                'keeper/x_test.cc: "testing/own.h" is not left of keeper',
                'session/x.cc: "testing/own.h" is not left of session',
            ],
        )

    def test_lets_only_a_fake_stop_the_clock(self) -> None:
        (self.src / "session" / "x.cc").write_text("Clock::stopped_at = 1;\n")
        (self.src / "testing" / "x.h").write_text("Clock::stopped_at = 1;\n")

        self.assertEqual(violations(self.src), ["session/x.cc: only a test's fake stops the clock"])

    def test_refuses_a_folder_that_no_layer_names(self) -> None:
        (self.src / "util").mkdir()
        self.write("util/x.h", "<vector>")

        self.assertEqual(len(violations(self.src)), 1)

    def test_refuses_a_look_behind_the_seam(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            keeper = Path(directory, "keeper")
            keeper.mkdir()
            (keeper / "sessions.cc").write_text('#include "keeper/process/shells.h"\n')
            (keeper / "keeper_main.cc").write_text('#include "keeper/process/shells.h"\n')

            found = seam_violations(Path(directory))

        self.assertEqual(found, ['sessions.cc: "keeper/process/shells.h" is behind the seam'])

    def test_finds_foreign_symbols_in_a_link_map(self) -> None:
        names = "0000 T vitrine::jail::enter(Plan const&)\n0001 T vitrine::wire::decode_frame()\n"

        self.assertEqual(symbols_of(PRIVILEGED, names), ["vitrine::jail::enter(Plan"])
        self.assertEqual(symbols_of(FRONT, names), [])


if __name__ == "__main__":
    unittest.main()
