# SPDX-License-Identifier: Apache-2.0
"""With the real index, as pip on this host uses it. Without one these are skipped, by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import BUILD, IMAGE, Server
from test_packages import run, value


def index_url() -> str:
    models = pytest.importorskip("pip._internal.models.index")
    return os.environ.get("PIP_INDEX_URL") or str(models.PyPI.simple_url)


@pytest.fixture(scope="module")
def online() -> Iterator[Server]:
    try:
        urllib.request.urlopen(index_url().rstrip("/") + "/humanize/", timeout=10).close()
    except (urllib.error.URLError, OSError) as error:
        pytest.skip(f"the package index cannot be reached: {error}")
    # The settings of the host, as `vitrine serve` writes them down.
    place = Path(tempfile.mkdtemp(prefix="vitrine-index-"))
    place.chmod(0o755)
    serve = [str(BUILD / "bin" / "vitrine"), "serve", "--data", str(place / "data")]
    serve += ["--image", str(IMAGE), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=open(place / "log", "wb"))
    assert process.stdout is not None
    ready = process.stdout.readline().decode()
    server = object.__new__(Server)
    server.process = process
    server.owns_directory, server.directory, server.log = True, place, place / "log"
    try:
        assert ready.startswith("vitrine: ready"), (ready, server.read_log())
        server.port = int(ready.rsplit(":", 1)[1])
        server.data = place / "data"
        yield server
    finally:
        server.end()
        shutil.rmtree(place, ignore_errors=True)


def test_a_pure_package_and_one_with_compiled_code(online: Server) -> None:
    assert value(
        run(online, "import humanize; humanize.intword(10**6)", packages=["humanize"])
    ) == ("'1.0 million'")
    code = "import orjson; orjson.dumps([1])"
    assert value(run(online, code, imports=["orjson"])) == "b'[1]'"


def test_one_that_does_not_exist_and_pins_that_conflict(online: Server) -> None:
    missing = online.post("/v1/run", {"code": "1", "packages": ["vitrine-surely-not-there"]})
    missing.is_problem(422, "package_not_found")
    pins = ["urllib3==2.0.7", "botocore==1.29.0"]
    answer = online.post("/v1/run", {"code": "1", "packages": pins}).is_problem(422, "conflict")
    assert "urllib3" in answer.json["detail"]


def test_a_session_installs_for_itself(online: Server) -> None:
    session = online.create()

    done = session.run("%pip install -q inflection\nimport inflection\ninflection.pluralize('box')")

    assert value(done) == "'boxes'"
    code = "await vitrine_install('vitrine-surely-not-there')"
    assert session.run(code)["error"]["name"] == "PackageError"
    assert session.delete().status == 204


def test_the_installer_reaches_the_index_and_users_code_does_not(online: Server) -> None:
    code = "import urllib.request; urllib.request.urlopen('http://example.org', timeout=3)"
    execution = run(online, code, packages=["humanize"])
    assert execution["outcome"] == "exception", execution


def test_a_real_source_distribution_is_built_when_asked_for(online: Server) -> None:
    wish = {"code": "import docopt; docopt.__version__", "packages": ["docopt==0.6.2"]}
    refused = online.post("/v1/run", wish).is_problem(422, "only_sdist")
    assert "docopt has only a source distribution" in refused.json["detail"]

    built = online.post("/v1/run", {**wish, "allow_sdist": True})

    assert built.json["results"] == [{"text/plain": "'0.6.2'"}], built


def test_one_that_must_be_compiled_says_so(online: Server) -> None:
    wish = {"code": "1", "packages": ["pycosat==0.6.6"], "allow_sdist": True}
    problem = online.post("/v1/run", wish).is_problem(422, "needs_compiler").json
    assert "pycosat" in problem["detail"] and "wheel" in problem["remedy"]
