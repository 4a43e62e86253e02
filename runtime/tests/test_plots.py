# SPDX-License-Identifier: Apache-2.0
"""matplotlib, pandas, PIL."""

from __future__ import annotations

import pytest
from conftest import MakeSession
from sessions import Session, has_scientific_stack

PLOT = "import matplotlib.pyplot as plt\n"


def images(done) -> list[int]:
    return [shown.kind for shown in done.results if "image/png" in shown.data]


def test_an_open_figure_becomes_a_result_and_is_closed(loaded: Session) -> None:
    done = loaded.run(PLOT + "plt.plot([1, 2]);")

    (shown,) = done.results
    assert shown.kind == 1
    assert shown.data["image/png"].startswith(b"\x89PNG\r\n")
    assert shown.text == "<Figure size 640x480 with 1 Axes>"
    assert loaded.run("plt.get_fignums()").value == "[]"


def test_the_value_of_plot_and_its_figure(loaded: Session) -> None:
    done = loaded.run(PLOT + "plt.plot([1, 2])")

    assert [s.kind for s in done.results] == [0, 1]
    assert "Line2D" in done.results[0].text


def test_show_emits_at_that_moment(loaded: Session) -> None:
    done = loaded.run(
        PLOT + "plt.plot([1])\nplt.show()\ndisplay('after')\nplt.plot([2])\nplt.show()"
    )

    kinds = ["image/png" in s.data for s in done.results]
    assert kinds == [True, False, True]


def test_several_figures(loaded: Session) -> None:
    done = loaded.run(PLOT + "for i in range(3):\n    plt.figure()\n    plt.plot([i])")

    assert images(done) == [1, 1, 1]


def test_a_returned_figure_is_sent_once(loaded: Session) -> None:
    done = loaded.run(PLOT + "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig")

    assert images(done) == [0]
    assert images(loaded.run("fig")) == [0], "a kept figure can be shown again"
    assert images(loaded.run("1")) == []


def test_a_displayed_figure_is_sent_once_more_only_if_it_changed(loaded: Session) -> None:
    done = loaded.run(PLOT + "fig, ax = plt.subplots()\nax.plot([1, 2])\ndisplay(fig)")

    assert len(images(done)) == 1


def test_closed_and_empty_figures_are_not_sent(loaded: Session) -> None:
    assert images(loaded.run(PLOT + "plt.plot([1])\nplt.close()")) == []
    assert images(loaded.run("plt.figure()\nNone")) == []
    assert loaded.run("plt.get_fignums()").value == "[]"


def test_savefig(loaded: Session) -> None:
    done = loaded.run(
        PLOT
        + "import os, tempfile\np = tempfile.mkdtemp() + '/x.png'\nplt.plot([1])\nplt.savefig(p)\n"
        "plt.close('all')\nos.path.getsize(p) > 1000"
    )

    assert done.value == "True" and images(done) == []


def test_figures_before_an_exception_are_sent(loaded: Session) -> None:
    done = loaded.run(PLOT + "plt.plot([1])\n1 / 0")

    assert done.outcome == "exception"
    assert done.order == ["result", "error", "finished"]


def test_pause_updates_one_picture(loaded: Session) -> None:
    done = loaded.run(
        PLOT
        + "fig, ax = plt.subplots()\nfor i in range(4):\n    ax.plot([i, 1])\n    plt.pause(0.01)"
    )

    assert images(done)[0] == 1 and set(images(done)[1:]) <= {2}
    assert len({s.display_id for s in done.results}) == 1
    assert len(done.results) <= 3


def test_show_without_blocking_then_close(loaded: Session) -> None:
    done = loaded.run(PLOT + "plt.plot([1])\nplt.show(block=False)\nplt.close('all')")

    assert images(done) == [1]


def test_figure_show(loaded: Session) -> None:
    assert images(loaded.run(PLOT + "fig = plt.figure()\nfig.add_subplot()\nfig.show()")) == [1]


@pytest.mark.parametrize("backend", ["Agg", "agg", "svg", "pdf"])
def test_other_backends(loaded: Session, backend: str) -> None:
    done = loaded.run(
        f"import matplotlib\nmatplotlib.use('{backend}')\n"
        + PLOT
        + "plt.plot([1, 2])\nmatplotlib.get_backend()"
    )

    assert done.outcome == "ok" and (done.value or "").lower() == repr(backend.lower())
    assert images(done) == [1]


def test_a_window_toolkit_without_a_display(make: MakeSession) -> None:
    if not has_scientific_stack():
        pytest.skip("needs matplotlib")
    session = make("loaded")
    session.run("import os\nos.environ.pop('DISPLAY', None)")
    session.run("import matplotlib\nmatplotlib.use('TkAgg')\n" + PLOT + "plt.figure()")

    assert session.run("1").value == "1"


def test_the_backend_in_sessions_that_import_it_later(make: MakeSession) -> None:
    if not has_scientific_stack():
        pytest.skip("needs matplotlib")
    session = make("bare")

    done = session.run(PLOT + "plt.plot([1, 2])\nplt.show()")
    assert images(done) == [1]
    assert "mpl_backend" in (session.run("import matplotlib\nmatplotlib.get_backend()").value or "")


@pytest.mark.parametrize("variant", ["bare", "loaded"])
def test_programs_started_by_a_session_use_agg(make: MakeSession, variant: str) -> None:
    if not has_scientific_stack():
        pytest.skip("needs matplotlib")
    done = make(variant).run(
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c',\n"
        "    'import matplotlib.pyplot as plt; plt.plot([1]); print(plt.get_backend())'])\nNone"
    )

    assert done.stdout.lower() == "agg\n", done


def test_magic_inline(loaded: Session) -> None:
    assert images(loaded.run("%matplotlib inline\n" + PLOT + "plt.plot([1]);")) == [1]


def test_a_figure_that_cannot_be_drawn(loaded: Session) -> None:
    done = loaded.run(PLOT + "plt.plot([1])\nplt.title('$\\\\frac{$')")

    assert done.outcome == "ok"
    assert any("could not be drawn" in note for note in done.notes)
    assert images(loaded.run("plt.plot([1]);")) == [1]


def test_pandas(loaded: Session) -> None:
    done = loaded.run("import pandas as pd\npd.DataFrame({'a': [1, 2]})")

    (shown,) = done.results
    assert "<table" in shown.data["text/html"].decode()
    assert shown.text == "   a\n0  1\n1  2"
    assert "Name: a" in (loaded.run("pd.Series([1], name='a')").value or "")
    assert images(loaded.run("pd.DataFrame({'a': [1, 2]}).plot();")) == [1]


def test_numpy(loaded: Session) -> None:
    assert loaded.run("import numpy as np\nnp.arange(3)").value == "array([0, 1, 2])"
    assert "..." in (loaded.run("np.arange(100_000)").value or "")
    assert loaded.run("{'a': np.eye(2)}").outcome == "ok"


@pytest.mark.parametrize(
    "mode", ["RGB", "L", "1", "P", "RGBA", "CMYK", "F", "I", "LA", "YCbCr", "HSV"]
)
def test_pil(loaded: Session, mode: str) -> None:
    done = loaded.run(f"from PIL import Image\nImage.new('{mode}', (3, 2))")

    (shown,) = done.results
    assert shown.data["image/png"].startswith(b"\x89PNG")
    assert set(shown.data) == {"text/plain", "image/png"}


def test_a_big_figure_over_the_limit(loaded: Session) -> None:
    done = loaded.run(PLOT + "plt.plot([1]);", result_limit=1000)

    assert images(done) == [] and done.notes
    assert done.results[0].text.startswith("<Figure")


def test_an_interrupt_while_drawing(loaded: Session) -> None:
    import time

    loaded.start(
        PLOT
        + "import numpy as np\nfor i in range(40):\n    plt.figure()\n    plt.plot(np.random.rand(2000, 50))"
    )
    time.sleep(3)
    loaded.interrupt()
    done = loaded.wait()

    assert done.outcome in ("interrupted", "ok")
    assert loaded.run("1").value == "1"
