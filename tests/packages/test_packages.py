# SPDX-License-Identifier: Apache-2.0
"""Packages on demand, from a directory of wheels: what works, what is refused, and what is left."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from served import Background, Server, until, within


def layers(server: Server) -> dict[str, Any]:
    answer = server.get("/v1/packages")
    assert answer.status == 200, answer
    return dict(answer.json)


def run(server: Server, code: str, **fields: Any) -> dict[str, Any]:
    answer = server.post("/v1/run", {"code": code, **fields})
    assert answer.status == 200, answer
    return dict(answer.json)


def value(execution: dict[str, Any]) -> str:
    assert execution["outcome"] == "ok", execution
    return str(execution["results"][-1]["text/plain"])


# ---- it works


def test_a_session_has_the_packages_it_asked_for(server: Server) -> None:
    session = server.create(packages=["vt-plain"])

    assert session.value("import vt_plain; vt_plain.version") == "'2.0'"
    assert session.delete().status == 204


def test_a_version_can_be_chosen_and_what_is_needed_comes_along(server: Server) -> None:
    assert (
        value(run(server, "import vt_plain; vt_plain.version", packages=["vt-plain==1.*"]))
        == "'1.0'"
    )
    code = "import vt_needs, vt_plain; (vt_needs.version, vt_plain.version)"
    assert value(run(server, code, packages=["vt_needs"])) == "('1.0', '1.0')"


def test_the_same_packages_are_installed_once(server: Server) -> None:
    run(server, "1", packages=["vt-plain==2.0"])
    before = layers(server)["installations"]

    run(server, "1", packages=["vt-plain==2.0"])
    run(server, "1", packages=["VT_plain >=2"])

    assert layers(server)["installations"] == before


def test_fifty_at_once_are_one_installation(serve: Callable[..., Server]) -> None:
    server = serve()

    calls = [Background(lambda: server.create(packages=["vt-needs"])) for _ in range(50)]

    assert [call.result().value("import vt_needs; 1") for call in calls] == ["1"] * 50
    assert layers(server)["installations"] == 1


def test_what_the_image_has_costs_nothing(server: Server) -> None:
    before = layers(server)["installations"]

    execution = run(server, "import numpy, yaml; 1", packages=["numpy"], imports=["yaml", "PIL"])

    assert value(execution) == "1"
    assert layers(server)["installations"] == before


def test_the_image_decides_versions_and_a_layer_never_replaces_them(server: Server) -> None:
    code = "import requests, vt_new_requests; requests.__file__"
    assert "vitrine-packages" not in value(run(server, code, packages=["vt-new-requests"]))


def test_what_cannot_live_with_the_image_comes_from_a_bare_interpreter_and_is_said(
    server: Server,
) -> None:
    session = server.create(packages=["vt-old-numpy"])

    assert any("other versions than the image" in note for note in session.shown["notes"])
    assert session.value("import numpy; numpy.__version__") == "'0.1'"
    code = "import subprocess, sys; c = 'import numpy; print(numpy.__version__)'\n"
    code += "subprocess.run([sys.executable, '-c', c], capture_output=True, text=True).stdout"
    assert session.value(code) == "'0.1\\n'"
    session.delete()


def test_programs_of_a_package_can_be_run(server: Server) -> None:
    code = "import subprocess; subprocess.run(['vt-hello'], capture_output=True, text=True).stdout"
    assert value(run(server, code, packages=["vt-script"])) == "'hello from a script\\n'"


def test_other_sessions_do_not_see_them(server: Server) -> None:
    run(server, "import vt_plain", packages=["vt-plain"])

    for _ in range(3):
        execution = run(server, "import vt_plain")
        assert execution["error"]["name"] == "ModuleNotFoundError", execution


def test_a_layer_is_read_only_and_tells_no_path_of_the_host(server: Server) -> None:
    session = server.create(packages=["vt-plain"])

    write = "open('/usr/local/lib/vitrine-packages/vt_plain.py', 'w')"
    assert session.run(write)["error"]["name"] in ("OSError", "PermissionError")
    mounts = session.value("[l for l in open('/proc/self/mountinfo') if 'vitrine-packages' in l]")
    assert "overlay" in mounts and str(server.directory) not in mounts
    session.delete()


def test_they_survive_a_reset_and_a_new_front(server: Server) -> None:
    session = server.create(packages=["vt-plain==1.0"])
    code = "import vt_plain; vt_plain.version"

    assert session.call("POST", "/reset", {}).status == 200
    assert session.value(code) == "'1.0'"
    assert session.call("POST", "/reset", {"files": "keep"}).status == 200
    assert session.value(code) == "'1.0'"
    server.kill_front()
    assert session.call("POST", "/reset", {}).status == 200
    assert session.value(code) == "'1.0'"
    session.delete()


def test_a_live_session_can_be_given_more(server: Server) -> None:
    session = server.create(packages=["vt-needs"])
    session.run("import vt_needs; kept = 7")

    answer = session.call("POST", "/packages", {"packages": ["vt-script"]})

    assert answer.status == 200, answer
    assert session.value("import vt_script, vt_plain; (kept, vt_plain.version)") == "(7, '1.0')"
    refused = session.call("POST", "/packages", {"packages": ["vt-wants-two"]})
    refused.is_problem(422, "conflict")
    session.delete()


def test_what_is_added_at_once_is_there_together(serve: Callable[..., Server]) -> None:
    session = serve().create()
    names = ["vt-plain==1.0", "vt-script", "vt-pth"]

    calls = [
        Background(lambda name=name: session.call("POST", "/packages", {"packages": [name]}))
        for name in names
    ]

    assert [call.result().status for call in calls] == [200] * 3
    assert session.value("import vt_plain, vt_script, vt_pth; vt_plain.version") == "'1.0'"
    session.delete()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_without_root_it_is_the_same(serve: Callable[..., Server]) -> None:
    server = serve(user=65534)

    session = server.create(packages=["vt-needs"])

    assert session.value("import vt_needs, vt_plain; vt_plain.version") == "'1.0'"
    write = "open('/usr/local/lib/vitrine-packages/vt_plain.py', 'a')"
    assert session.run(write)["error"]["name"] == "OSError", "its own files, and still read-only"


def test_the_code_of_a_session_can_ask_for_more(server: Server) -> None:
    session = server.create()

    done = session.run("%pip install -q vt-plain==1.0\nimport vt_plain\nvt_plain.version")
    assert value(done) == "'1.0'"
    done = session.run("await vitrine_install('vt-script')\nimport vt_script, vt_plain\n1")
    assert value(done) == "1"
    failed = session.run("!pip install vt-nowhere")
    assert failed["error"]["name"] == "PackageError" and failed["state_kept"], failed
    refused = session.run("%pip install --index-url=http://127.0.0.1/ vt-plain")
    assert "is an option" in refused["error"]["value"], refused
    assert session.call("POST", "/reset", {}).status == 200
    assert session.value("import vt_script, vt_plain; 1") == "1"
    session.delete()


def test_a_flood_of_questions_is_one_installation(serve: Callable[..., Server]) -> None:
    server = serve()
    session = server.create()
    flood = (
        "from vitrine_runtime import packages, worker\n"
        "here = worker.session()\n"
        "for i in range(2000):\n"
        '    wish = packages.QUESTION + \'{"packages": ["vt-plain", "vt-nowhere%d"]}\' % i\n'
        "    here.channel.input_request(here.results.current.id, wish, False)\n"
    )

    session.exec(flood, timeout_s=20)

    assert run(server, "6 * 7")["outcome"] == "ok"
    assert server.info()["sessions"] < 10
    assert layers(server)["installations"] == 0


# ---- names


def test_the_typo_of_the_seeds_is_corrected_and_said(server: Server) -> None:
    session = server.create(imports=["dataclass", "typing", "matplotlib.pyplot"])

    assert session.shown["notes"] == ["dataclass -> dataclasses"]
    assert session.value("from dataclasses import dataclass; 1") == "1"
    session.delete()


def test_a_name_nobody_knows_is_refused_with_suggestions(server: Server) -> None:
    answer = server.post("/v1/sessions", {"imports": ["polarz"]}).is_problem(422, "unknown_module")

    assert "polars" in answer.json["remedy"]
    server.post("/v1/sessions", {"imports": ["a b"]}).is_problem(422, "invalid_import")


@pytest.mark.parametrize(
    "text",
    ["--index-url=http://127.0.0.1/", "-r x", "vt-plain --pre", "vt-plain\n-r x", "./x", "/etc/passwd",
     "vt-plain @ file:///x", "https://example.org/x.whl", "vt-pl\u0430in", "", "x" * 300, "vt-plain; 1"],
)  # fmt: skip
def test_what_is_no_requirement_is_refused(server: Server, text: str) -> None:
    answer = server.post("/v1/sessions", {"packages": [text]})
    answer.is_problem(422, "invalid_requirement")


def test_ten_thousand_packages_are_refused(server: Server) -> None:
    server.post("/v1/sessions", {"packages": ["a"] * 10_000}).is_problem(422)


# ---- failures, and nothing left of them


@pytest.mark.parametrize(
    ("wanted", "code"),
    [(["vt-nowhere"], "package_not_found"), (["vt-plain==9"], "package_not_found"),
     (["vt-fast"], "no_wheel"), (["vt-needs", "vt-wants-two"], "conflict"),
     (["vt-bomb"], "too_big")],
)  # fmt: skip
def test_an_installation_that_fails_says_why_and_leaves_nothing(
    server: Server, wanted: list[str], code: str
) -> None:
    before = layers(server)

    answer = server.post("/v1/sessions", {"packages": wanted}).is_problem(422, code)

    assert wanted[0].replace("-", "") in answer.json["detail"].replace("-", "").replace(
        "_", ""
    ) or (code == "too_big")
    assert layers(server)["layers"] == before["layers"]
    assert not [name for name in os.listdir(server.data / "layers") if name.startswith(".new")]


def test_a_wheel_that_would_escape_puts_nothing_outside(server: Server) -> None:
    answer = server.post("/v1/run", {"code": "import os; os.path.exists('/tmp/vt_escaped')",
                                     "packages": ["vt-escape"]})  # fmt: skip

    if answer.status == 200:  # uv left the file out
        assert value(answer.json) == "False"
    else:
        answer.is_problem((422, 502))
    assert not os.path.exists("/tmp/vt_escaped")


def test_a_pth_file_of_a_package_is_not_run(server: Server) -> None:
    code = "import os, vt_pth, subprocess, sys\n"
    code += "c = 'import os; print(os.environ.get(\"VT_PTH\"))'\n"
    code += "(os.environ.get('VT_PTH'), subprocess.run([sys.executable, '-c', c], capture_output=True).stdout)"
    assert value(run(server, code, packages=["vt-pth"])) == "(None, b'None\\n')"


def test_operators_may_forbid(serve: Callable[..., Server]) -> None:
    server = serve(deny=["vt-plain"])

    server.post("/v1/sessions", {"packages": ["vt-plain"]}).is_problem(403, "package_forbidden")
    server.post("/v1/sessions", {"packages": ["vt-needs"]}).is_problem(403, "package_forbidden")
    only = serve(allow=["vt-script"])
    only.create(packages=["vt-script"])
    only.post("/v1/sessions", {"packages": ["vt-plain"]}).is_problem(403, "package_forbidden")
    off = serve(on=0)
    off.post("/v1/sessions", {"packages": ["vt-plain"]}).is_problem(422, "packages_off")
    assert off.create(imports=["dataclass"]).shown["notes"] == ["dataclass -> dataclasses"]


# ---- progress, cancellation, restarts, eviction


def test_progress_comes_as_events(serve: Callable[..., Server]) -> None:
    server = serve()
    connection = server.connection()
    body = json.dumps({"packages": ["vt-needs"], "code": "import vt_needs; 5"})
    headers = {"Content-Type": "application/json", "Accept": "application/x-ndjson"}

    connection.request("POST", "/v1/run", body, headers)
    lines = [json.loads(line) for line in connection.getresponse().read().splitlines()]

    kinds = [line["type"] for line in lines]
    assert kinds[0] == "progress" and kinds[-1] == "finished", lines
    assert lines[-1]["execution"]["results"] == [{"text/plain": "5"}]
    connection.request("POST", "/v1/sessions", json.dumps({"packages": ["vt-script"]}), headers)
    lines = [json.loads(line) for line in connection.getresponse().read().splitlines()]
    assert lines[0]["type"] == "progress" and lines[-1]["type"] == "session", lines
    connection.close()


def installers(server: Server) -> int:
    """Installations run in bare interpreters, which nothing else uses here; they are no sessions."""
    zygotes = server.info()["zygotes"]
    return sum(one["alive"] for one in zygotes if one["variant"] == "bare")


def test_an_installation_that_nobody_waits_for_is_given_up(serve: Callable[..., Server]) -> None:
    server = serve()
    server.create(imports=["dataclass"]).delete()  # it knows the image now
    before = installers(server)
    connection = server.connection()
    body = json.dumps({"packages": ["vt-plain"]})
    connection.request("POST", "/v1/sessions", body, {"Content-Type": "application/json"})
    assert within(lambda: installers(server) > before), "the installer does not begin"

    connection.close()

    assert within(lambda: installers(server) == before), "the installer goes on"
    assert layers(server)["installations"] == 0
    assert until(
        lambda: not [n for n in os.listdir(server.data / "layers") if n.startswith(".new")]
    )
    assert server.create(packages=["vt-plain"]).value("import vt_plain; 1") == "1"


def test_a_front_killed_while_it_installs_leaves_nothing_half_done(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    server.create(imports=["dataclass"]).delete()
    before = server.info()["sessions"]
    task = Background(lambda: server.post("/v1/sessions", {"packages": ["vt-needs"]}))
    assert until(lambda: task.is_over() or server.info()["sessions"] > before)

    server.kill_front()
    with pytest.raises(BaseException):  # noqa: B017
        if task.result().status == 201:
            raise ConnectionError  # it was faster
    assert server.create(packages=["vt-needs"]).value("import vt_needs; 1") == "1"
    assert not [n for n in os.listdir(server.data / "layers") if n.startswith((".new", ".tmp"))]


def test_what_was_not_used_for_longest_goes_first_and_nothing_that_is_in_use(
    serve: Callable[..., Server],
) -> None:
    server = serve(budget_bytes=1)
    session = server.create(packages=["vt-plain==1.0"])
    run(server, "1", packages=["vt-script"])

    run(server, "1", packages=["vt-plain==2.0"])

    kept = [one["packages"] for one in layers(server)["layers"]]
    assert ["vt-plain==1.0"] in kept and ["vt-script==1.0"] not in kept, kept
    assert session.value("import vt_plain; vt_plain.version") == "'1.0'"
    session.delete()
    assert server.post("/v1/packages/prune", {}).json["removed"] == len(kept)
    assert layers(server)["layers"] == []
    assert os.listdir(server.data / "layers") == [], "nor what they were asked for with"


def test_layers_outlive_the_server(serve: Callable[..., Server]) -> None:
    first = serve()
    first.owns_directory = False
    run(first, "1", packages=["vt-plain==1.0"])
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()

    second = serve(directory=first.directory)
    second.owns_directory = True

    assert (
        value(run(second, "import vt_plain; vt_plain.version", packages=["vt-plain==1.0"]))
        == "'1.0'"
    )
    assert layers(second)["installations"] == 0
