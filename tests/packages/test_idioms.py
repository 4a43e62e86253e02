# SPDX-License-Identifier: Apache-2.0
"""The ways in which models install packages from inside a session: they work, or say what to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from served import Server
from shop import Shop
from test_packages import layers
from wheels import wheel


@pytest.fixture
def session(server: Server) -> Any:
    made = server.create()
    yield made
    made.delete()


IDIOMS = [
    "%pip install vt-script",
    "%pip install -q --no-cache-dir vt_script  # a comment",
    "!pip install vt-script",
    "!pip install vt-script > /dev/null 2>&1",
    "!pip install -q vt-script 2>&1 | tail -1",
    "!pip3 install vt-script && echo fine",
    "%pip install vt-script > /dev/null 2>&1",
    "!uv pip install --system vt-script | cat",
    "%uv pip install vt-script",
    "pip install vt-script",
    "python -m pip install vt-script",
    "lines = !python3 -m pip install vt-script",
    "!python -m pip install --upgrade pip vt-script; true",
    "import os\nos.system('pip install vt-script >/dev/null')",
    "import subprocess, sys\n"
    "subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', 'vt-script'], check=True)",
    "import subprocess, sys\n"
    "subprocess.check_call([sys.executable, '-u', '-m', 'pip', 'install', 'vt-script'])",
    "import subprocess\nsubprocess.check_output('pip install vt-script', shell=True)",
    "import threading, subprocess\n"
    "t = threading.Thread(target=subprocess.run, args=(['pip', 'install', 'vt-script'],))\n"
    "t.start()\nt.join()",
    "open('requirements.txt', 'w').write('# one\\nvt-script==1.0 ; python_version > \"3.0\"\\n')\n"
    "%pip install -r requirements.txt",
    "open('requirements.txt', 'w').write('vt-script\\nvt-gone; python_version < \"3\"\\n')\n"
    "!pip install -qr requirements.txt || pip install -r requirements.txt",
]


@pytest.mark.parametrize("code", IDIOMS)
def test_an_idiom_installs(session: Any, code: str) -> None:
    done = session.run(code)
    assert done["outcome"] == "ok", done

    after = session.run("import vt_script; 1")

    assert after["outcome"] == "ok", (done, after)


def test_pip_list_show_and_freeze(session: Any) -> None:
    session.run("%pip install vt-plain==1.0")

    for pip in ("%pip", "!pip", "!python -m pip", "!uv pip", "%uv pip"):
        assert "vt_plain==1.0\n" in session.run(f"{pip} freeze")["stdout"], pip
        shown = session.run(f"{pip} show vt-plain")["stdout"]
        assert "Name: vt_plain\nVersion: 1.0\n" in shown, (pip, shown)
        assert "numpy" in session.run(f"{pip} list")["stdout"], pip


def test_what_is_there_is_not_installed_again(server: Server, session: Any) -> None:
    session.run("%pip install vt-plain==1.0")
    before = layers(server)["installations"]

    said = session.run("!pip install vt-plain numpy 'vt-plain>=1' | cat")["stdout"]

    assert said.count("Requirement already satisfied") == 3
    assert layers(server)["installations"] == before


def test_an_upgrade_gets_the_newest_version(session: Any) -> None:
    session.run("%pip install vt-plain==1.0")

    done = session.run("%pip install --upgrade vt-plain\nimport vt_plain; vt_plain.version")
    again = session.run("!pip install -U vt-plain numpy | cat")

    assert done["results"] == [{"text/plain": "'2.0'"}], done
    assert "no newer version fits" in again["stdout"], again
    assert "part of the image and stays" in again["stdout"], again


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("%pip install --index-url=http://127.0.0.1/ vt-plain", "leave it out"),
        ("!pip install -i http://127.0.0.1/ vt-plain 2>&1 | cat", "leave it out"),
        ("!pip install --target /tmp/x vt-plain 2>&1 | cat", "can be imported at once"),
        ("!pip install git+https://example.org/x 2>&1 | cat", "names a URL"),
        ("!pip install -r nowhere.txt 2>&1 | cat", "cannot be read"),
        ("!pip install vt-nowhere 2>&1 | cat", "package_not_found"),
        ("%pip uninstall vt-plain", "create a session without it"),
        ("!uv add vt-plain 2>&1 | cat", "uv pip install"),
        ("%pip install", "nothing is named"),
        ("%pip show vt-nowhere", "%pip install vt-nowhere"),
    ],
)
def test_what_does_not_work_says_what_to_do(session: Any, code: str, says: str) -> None:
    done = session.run(code)

    text = done["stdout"] + (done["error"] or {}).get("value", "")
    assert says in text, done


def test_a_failed_installation_is_the_programs_exit_code(session: Any) -> None:
    code = "import subprocess\nsubprocess.run(['pip', 'install', 'vt-nowhere']).returncode"
    assert session.value(code) == "1"
    assert session.value("import os; os.system('pip install vt-nowhere')") == "256"


def test_input_is_not_lost_to_an_installation_beside_it(session: Any) -> None:
    code = (
        "import subprocess\np = subprocess.Popen(['pip', 'install', 'vt-plain'])\n"
        "x = [input() for _ in range(3)]\np.wait(), x"
    )
    done = session.run(code, stdin="a\nb\nc\n")
    assert done["results"] == [{"text/plain": "(0, ['a', 'b', 'c'])"}], done


def test_an_installation_left_behind_disturbs_nothing(session: Any) -> None:
    for _ in range(5):
        session.run("import subprocess; p = subprocess.Popen(['pip', 'install', 'vt-needs'])")
        assert session.value("40 + 2") == "42"
    session.run("import time; time.sleep(1)")
    assert session.run("%pip install vt-script")["outcome"] == "ok"


def test_the_door_gives_hostile_clients_nothing(session: Any) -> None:
    code = """
import json, os, socket, subprocess
subprocess.run(['true'])
def ask(data):
    s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect('\\0vitrine-packages')
    s.sendall(data + b'\\n'); said = s.recv(65536); s.close()
    return json.loads(said)['code'] if said else None
idle = socket.socket(socket.AF_UNIX); idle.connect('\\0vitrine-packages'); idle.close()
' '.join([ask(b'{'), ask(b'[' * 100000), ask(b'{"packages": 7}'), ask(b'{"packages": ["x"], "allow_sdist": 1}'),
 ask(json.dumps({"packages": ["x" * 600]}).encode()), ask(json.dumps({"packages": ["x"] * 65}).encode()),
 ask(json.dumps({"packages": ["--index-url=http://127.0.0.1/"]}).encode())])
"""
    bad = "invalid_requirement"
    assert session.value(code) == f"'{bad} {bad} {bad} package_not_found {bad} {bad} {bad}'"


def test_an_installation_does_not_count_as_time_of_the_code(
    shop: Shop, serve: Callable[..., Server]
) -> None:
    wheel(shop.wheels, "vi_slow", files={f"vi_slow/m{n}.py": "x = 1\n" * 4000 for n in range(60)})
    server = serve()
    session = server.create()

    began = time.monotonic()
    done = session.run("%pip install vi-slow\n1", timeout_s=1)
    took = time.monotonic() - began

    assert done["outcome"] == "ok", (took, done)
    late = session.run("%pip install vt-plain\nimport time; time.sleep(5)", timeout_s=1)
    assert late["outcome"] == "timeout", late


def test_a_session_has_its_own_time_for_installations(serve: Callable[..., Server]) -> None:
    session = serve().create(limits={"install_timeout_s": 0.05})

    failed = session.run("%pip install vt-plain")

    assert session.shown["limits"]["install_timeout_s"] == 0.05
    assert failed["error"]["name"] == "PackageError", failed
    assert "install_timeout_s" in failed["error"]["value"], failed
