# SPDX-License-Identifier: Apache-2.0
"""The isolations that the contract holds for, and what each of them offers.

Another isolation is added here, in one place: every test that makes a session through the `create`
or `session` fixture then runs in it as well. A test that needs a capability says so,

    @pytest.mark.needs("network")

and is skipped, by the capability's name, in an isolation that lacks it.
"""

from __future__ import annotations

CAPABILITIES = {"packages", "environments", "display", "network", "recordings", "files"}

ISOLATIONS: dict[str, set[str]] = {
    "process": CAPABILITIES,
}


def missing(isolation: str, needed: tuple[str, ...]) -> list[str]:
    """Which of the capabilities the isolation lacks. A name that is none is the test's mistake."""
    unknown = set(needed) - CAPABILITIES
    assert not unknown, f"no capability: {sorted(unknown)}"
    return sorted(set(needed) - ISOLATIONS[isolation])
