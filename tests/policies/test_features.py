# SPDX-License-Identifier: Apache-2.0
"""One contract for all policies: every feature works where it is said to, and is refused where not."""

from __future__ import annotations

from pathlib import Path

import pytest
from escapes import ESCAPES
from features import FEATURES, POLICIES, Feature
from served import Session
from table import WORKS, verdict

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "policies.md"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("feature", FEATURES, ids=lambda one: one.name)
def test_a_feature(asked: dict[str, Session], feature: Feature, policy: str) -> None:
    found = verdict(asked[policy], feature)

    assert (found == WORKS) == (policy not in feature.not_in), found


def test_the_document_names_every_feature() -> None:
    text = DOCUMENT.read_text()

    missing = [one.name for one in FEATURES if f"| {one.name} |" not in text]

    assert not missing, "make it anew: ./dev policies"


@pytest.mark.parametrize("name", ESCAPES)
def test_an_escape_is_refused(asked: dict[str, Session], name: str) -> None:
    execution = asked["restricted"].run(ESCAPES[name])

    assert execution["outcome"] == "policy", execution
    assert execution["exit_code"] == 1
    assert execution["error"]["name"] == "PolicyViolation"
    rule, _, rest = execution["error"]["value"].partition(": ")
    assert rule.isalpha() and rest.startswith("line "), execution["error"]
    assert "uid=" not in execution["stdout"]


def test_a_session_goes_on_after_all_of_them(asked: dict[str, Session]) -> None:
    assert asked["restricted"].value("sum(range(5))") == "10"
