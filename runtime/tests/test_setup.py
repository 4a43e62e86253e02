# SPDX-License-Identifier: Apache-2.0
"""Environment, seeds, rehearsals, and what a fork shares."""

from __future__ import annotations

import pytest
from conftest import MakeSession
from sessions import Session, has_scientific_stack


def test_the_environment_of_a_session(make: MakeSession) -> None:
    session = make(env={"KEY": "value", "TZ": "Asia/Tokyo", "BAD=NAME": "x", "É": "ü"})

    assert session.run("import os\nos.environ['KEY']").value == "'value'"
    assert session.run("!echo $KEY").stdout == "value\n"
    assert session.run("import time\ntime.strftime('%z')").value == "'+0900'"


def test_the_environment_of_one_execution(make: MakeSession) -> None:
    session = make(env={"KEY": "session"})

    done = session.run(
        "import os\n(os.environ['KEY'], os.environ['NEW'])", env={"KEY": "e", "NEW": "n"}
    )
    assert done.value == "('e', 'n')"
    assert session.run("!echo $KEY $NEW", env={"NEW": "2"}).stdout == "session 2\n"
    assert session.run("(os.environ['KEY'], 'NEW' in os.environ)").value == "('session', False)"
    session.run("1 / 0", env={"KEY": "gone"})
    assert session.run("!echo $KEY").stdout == "session\n"


def test_seeded_sessions_repeat(make: MakeSession) -> None:
    values = {make(seed=7).run("import random\nrandom.random()").value for _ in range(3)}
    other = make(seed=8).run("import random\nrandom.random()").value

    assert len(values) == 1 and other not in values


def test_unseeded_sessions_differ(make: MakeSession) -> None:
    values = {make().run("import random\nrandom.random()").value for _ in range(3)}

    assert len(values) == 3


@pytest.mark.parametrize("variant", ["bare", "loaded"])
def test_numpy_is_seeded_now_or_later(make: MakeSession, variant: str) -> None:
    if not has_scientific_stack():
        pytest.skip("needs numpy")
    code = "import numpy as np\nfloat(np.random.rand())"
    values = {make(variant, seed=7).run(code).value for _ in range(2)}
    free = {make(variant).run(code).value for _ in range(3)}
    expected = (
        make(variant).run("import numpy as np\nnp.random.seed(7)\nfloat(np.random.rand())").value
    )

    assert values == {expected}
    assert len(free) == 3


def test_a_huge_or_negative_seed(make: MakeSession) -> None:
    for seed in (2**63, -5, 0):
        assert make(seed=seed).run("1").value == "1"


@pytest.mark.parametrize("variant", ["bare", "loaded"])
def test_a_rehearsal_leaves_no_trace(make: MakeSession, variant: str) -> None:
    if variant == "loaded" and not has_scientific_stack():
        pytest.skip("needs numpy")
    plain, rehearsed = make(variant), make(variant, rehearse=True)
    probe = (
        "import linecache, sys\n"
        "(sorted(globals()), [n for n in linecache.cache if 'cell' in n], sys.getrecursionlimit())"
    )

    for session in (plain, rehearsed):
        done = session.run("1 / 0")
        assert '"<cell 1>"' in done.traceback and done.stdout == done.stderr == ""
    assert plain.run(probe).value == rehearsed.run(probe).value
    assert rehearsed.run("import random\nrandom.random()").outcome == "ok"


def test_a_rehearsal_by_request(make: MakeSession) -> None:
    session = make(rehearse=False, env={"A": "b"})
    session.send("setup", 0, {"env": {}, "seed": None, "rehearse": True})

    done = session.run("1")
    assert (done.value, done.stdout, done.notes) == ("1", "", [])
    assert session.run("print(2)").stdout == "2\n"
    assert session.run("_").value == "1"


def test_only_own_descriptors(session: Session) -> None:
    done = session.run(
        "import os\nsorted(os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in range(3))"
    )

    assert done.value == "['/dev/null', 'pipe', 'pipe']"


def test_the_threads_and_modules_of_a_bare_session(session: Session) -> None:
    assert session.run("import threading\nthreading.active_count()").value == "1"
    assert (
        session.run(
            "import sys\n[m for m in ('numpy', 'pandas', 'matplotlib') if m in sys.modules]"
        ).value
        == "[]"
    )


def test_nothing_is_imported_for_results(session: Session) -> None:
    session.run("import sys\nbefore = set(sys.modules)")
    session.run("display({'a': [1]})\n'x'")
    done = session.run("sorted(set(sys.modules) - before)")

    assert done.value == "[]"
