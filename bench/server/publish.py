# SPDX-License-Identifier: Apache-2.0
"""Puts the numbers of a run into the documents: `./dev bench docs [FILE]`.

Nobody types a number: the tables stand between markers and are replaced, the chart is drawn anew.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "build/bench/server.json"
SCALE = ROOT / "build/bench/scale.json"
PAGE = ROOT / "docs/server-numbers.md"
README = ROOT / "README.md"
CHART = ROOT / "docs/server-numbers.svg"
BEGIN, END = "<!-- numbers: ./dev bench docs -->", "<!-- /numbers -->"
SCALE_BEGIN, SCALE_END = "<!-- scale: ./dev bench docs -->", "<!-- /scale -->"

Row = dict[str, Any]

# What the README shows: a row's name, as people say it.
HEADLINES = {
    "P1 create and first result": "create a session with numpy and pandas loaded, first result",
    "P3 one more execution (1+1)": "one more execution",
    "P4 idle session, 500 alive": "memory of an idle session, 500 alive",
    "P5 one-shots, numpy, 8 clients": "one-shot runs with numpy, 8 clients",
    "P5 one-shots, bare, 8 clients": "one-shot runs of bare code, 8 clients",
    "crowd of 1000 idle, 200 busy: 1+1": "an execution among 1,000 idle and 200 busy sessions",
    "front killed: to the next right answer": "the HTTP process killed: next answer of a session",
    "front killed: wrong answers after it": "wrong answers or lost sessions after that",
    "P9 left after create/run/destroy": "left behind by create/run/destroy",
    "Kernel Gateway: started, imports done": "beside it, Jupyter Kernel Gateway: kernel, imports",
    "Kernel Gateway: one more execution": "beside it, Jupyter Kernel Gateway: one more execution",
    "ipykernel: one more execution": "beside it, ipykernel: one more execution",
    "ipykernel: RSS after the imports": "beside it, ipykernel: memory",
}

# The chart: bars by group; ours are drawn in colour.
CHART_GROUPS = [
    (
        "A session with numpy, pandas and pyplot, to its first result",
        [
            ("Vitrine", "P1 create and first result"),
            ("Vitrine, burst of 16, none waiting", "P2 burst of 16, pool empty, each"),
            ("python3", "python3: started, imports done"),
            ("bubblewrap + python3", "bubblewrap + python3: the same"),
            ("ipykernel", "ipykernel: started, imports done"),
            ("Jupyter Kernel Gateway", "Kernel Gateway: started, imports done"),
        ],
    ),
    (
        "One more execution in it",
        [
            ("HTTP alone (null server)", "null call"),
            ("Vitrine", "P3 one more execution (1+1)"),
            ("ipykernel", "ipykernel: one more execution"),
            ("Jupyter Kernel Gateway", "Kernel Gateway: one more execution"),
        ],
    ),
]


def number(value: float | None) -> str:
    """Three significant digits, no exponent."""
    if value is None:
        return ""
    if value == int(value):
        return f"{int(value):,}"
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(digits, 3)}f}"


def amount(value: float | None, unit: str) -> str:
    return f"{number(value)} {unit}".strip() if value is not None else ""


def conditions(run: dict[str, Any]) -> str:
    told = run["conditions"]
    return (
        f"{told['machine']}; the run took {told['time']}; other programs had "
        f"{told['other programs had']}."
    )


def table(lines: list[list[str]], head: list[str]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def full_table(run: dict[str, Any]) -> str:
    lines = []
    for row in run["rows"]:
        beside = row["beside"]
        if beside:
            beside += f" {number(row['beside_p50'])}"
        ratio = f"{number(row['ratio'])}x" if row["ratio"] is not None else ""
        verdict = {"ok": "met", "MISSED": "**missed**", "": ""}[row["verdict"]]
        target = f"{row['target'].replace('<', '&lt;').replace('>', '&gt;')}: {verdict}"
        lines.append(
            [
                row["metric"].strip(), number(row["p50"]), number(row["p99"]), row["unit"],
                f"{row['n']:,}", beside, ratio, target if verdict else "",
            ]
        )  # fmt: skip
    head = ["What", "p50", "p99", "Unit", "n", "Beside", "Ratio", "Target"]
    notes = "".join(f"- {note}\n" for note in run["notes"])
    return conditions(run) + "\n\n" + table(lines, head) + ("\n" + notes if notes else "")


def short_table(run: dict[str, Any]) -> str:
    rows = {row["metric"]: row for row in run["rows"]}
    lines = []
    for metric, words in HEADLINES.items():
        if metric in rows:
            row = rows[metric]
            p99 = amount(row["p99"], row["unit"])
            count = f" (n = {row['n']:,})" if not row["unit"] else ""
            lines.append([words, amount(row["p50"], row["unit"]) + count, p99])
    judged = [row["verdict"] for row in run["rows"] if row["verdict"]]
    met = f"Targets met: {judged.count('ok')} of {len(judged)}. "
    return table(lines, ["Through HTTP", "p50", "p99"]) + "\n" + met + conditions(run) + "\n"


def scale_table(run: dict[str, Any]) -> str:
    lines = []
    for row in run["rows"]:
        costs = [f"{row['ms'][stage]:.3f}" for stage in ("front", "keeper", "zygote")]
        first = row["full_first"]
        full = f"{row['full_at'][first]:,.0f}/s ({first})"
        lines.append([row["work"], *costs, full, f"{row['rate_here']:,.0f}/s"])
    head = ["For", "front ms", "keeper ms", "zygote ms", "First full at", "Rate here"]
    return table(lines, head)


def replace_between_markers(path: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    old = path.read_text()
    if old.count(begin) != 1 or old.count(end) != 1:
        sys.exit(f"{path.relative_to(ROOT)} needs one line '{begin}' and one '{end}'")
    before, rest = old.split(begin)
    path.write_text(before + begin + "\n" + text + end + rest.split(end)[1])


def draw(run: dict[str, Any]) -> str:
    values = {row["metric"]: row["p50"] for row in run["rows"] if row["p50"] > 0}
    groups = [
        (title, [(name, values[metric]) for name, metric in bars if metric in values])
        for title, bars in CHART_GROUPS
    ]
    shown = [value for _, bars in groups for _, value in bars]
    if not shown:
        sys.exit("the run holds nothing for the chart: run ./dev bench without --only")
    low = math.floor(math.log10(min(shown)))
    high = math.ceil(math.log10(max(shown)))
    left, width, line = 250, 470, 24

    def at(value: float) -> float:
        return left + width * (math.log10(value) - low) / (high - low)

    parts: list[str] = []
    y = 20
    for title, bars in groups:
        parts.append(f'<text x="10" y="{y}" class="title">{title}</text>')
        y += 12
        for name, value in bars:
            kind = "ours" if name.startswith("Vitrine") else "theirs"
            parts.append(f'<text x="{left - 8}" y="{y + 14}" class="name">{name}</text>')
            parts.append(
                f'<rect x="{left}" y="{y + 2}" width="{at(value) - left:.1f}" '
                f'height="{line - 8}" class="{kind}"/>'
            )
            parts.append(f'<text x="{at(value) + 6:.1f}" y="{y + 14}">{amount(value, "ms")}</text>')
            y += line
        y += 26
    bottom = y - 30
    for power in range(low, high + 1):
        x = at(10.0**power)
        parts.insert(0, f'<line x1="{x:.1f}" y1="26" x2="{x:.1f}" y2="{bottom}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 16}" class="tick">{amount(10.0**power, "ms")}</text>'
        )
    style = (
        "text{font:13px sans-serif;fill:#57606a}.title{font-weight:bold}.name{text-anchor:end}"
        ".tick{text-anchor:middle;font-size:11px}line{stroke:#8c959f;stroke-opacity:.35}"
        ".ours{fill:#1f883d}.theirs{fill:#8c959f}"
        "@media(prefers-color-scheme:dark){text{fill:#adbac7}.ours{fill:#46954a}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 {bottom + 28}" role="img">'
        f"<title>Milliseconds, median, logarithmic scale</title><style>{style}</style>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RUN
    if SCALE.exists():
        table_ = scale_table(json.loads(SCALE.read_text()))
        replace_between_markers(PAGE, table_, SCALE_BEGIN, SCALE_END)
        print(f"written: {PAGE.relative_to(ROOT)}, where the ceiling is")
        if not path.exists():
            return
    if not path.exists():
        sys.exit(f"{path} does not exist: ./dev bench makes it")
    run = json.loads(path.read_text())
    CHART.write_text(draw(run))
    replace_between_markers(PAGE, full_table(run))
    replace_between_markers(README, short_table(run))
    print(f"written: {CHART.relative_to(ROOT)}, {PAGE.relative_to(ROOT)}, {README.name}")


if __name__ == "__main__":
    main()
