# SPDX-License-Identifier: Apache-2.0
"""Language policies: what a session's Python may do.

They guard against accidents and teach a model what is allowed. They are no wall: the jail is.
Nothing of this package runs in a session under `native`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..sealed import __builtins__  # noqa: F401

if TYPE_CHECKING:
    from ..session import Session


def install(session: Session, name: str, imports: list[str]) -> None:
    """In the worker, before its first cell. Raises if the policy cannot be had."""
    if name == "restricted":
        from .restricted import Restricted

        session.policy = Restricted(session, imports)
    elif name == "smolagents":
        from .agents import Smolagents

        session.policy = Smolagents(session, imports)
    else:
        raise ValueError(f"no such policy: {name}")
    session.runner.policy = session.policy
