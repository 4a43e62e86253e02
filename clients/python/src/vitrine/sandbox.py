# SPDX-License-Identifier: Apache-2.0
"""The synchronous client: a `Sandbox` is one session on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from . import calls
from .calls import WAIT_S, Call, Display, Limits, OnText, Settings, session_path
from .session import Session, answer_session, run
from .transport import Transport, find_address, shared

__all__ = ["Sandbox", "run"]


class Sandbox(Session):
    """An isolated, stateful Python session. It ends with `close()` or with its `with` block.

    >>> with vitrine.Sandbox(limits={"memory_mb": 256}) as box:
    ...     box.run("x = 20")
    ...     box.run("x + 22").value
    42

    `Sandbox.run(code)` on the class itself is a one-shot: a session for this code only.

    Args:
        name: for people; need not be unique.
        limits: such as {"memory_mb": 256, "exec_timeout_s": 10}; see `Limits`.
        env: environment variables of the session.
        seed: fixes `random`, numpy's global generator and the hashes of strings.
        packages, imports, isolation, policy, display: as in docs/api.md. A field that the server
            does not support is an `InvalidField`, never ignored.
        allow_sdist: packages without a wheel are built from their source distribution.
        environment: the name of a set of packages that the server's operator built.
        network: hosts it may reach, such as ["example.org", "*.example.net:8443"]; none by default.
            See docs/network.md.
        url, token: which server; by default that of an open `vitrine.local()`, then VITRINE_URL
            and VITRINE_TOKEN, then http://127.0.0.1:8000.
        wait_s: how long calls wait while the server is at its capacity.
        on_progress: called with lines of text while packages are installed.

    One object may be used by several threads; executions of a session run one after another.
    """

    def __init__(
        self,
        *,
        name: str = "",
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        seed: int | None = None,
        packages: Sequence[str] = (),
        imports: Sequence[str] = (),
        allow_sdist: bool = False,
        environment: str | None = None,
        isolation: str | None = None,
        policy: str | None = None,
        display: Display | None = None,
        network: Sequence[str] = (),
        url: str | None = None,
        token: str | None = None,
        wait_s: float = WAIT_S,
        on_progress: OnText | None = None,
    ) -> None:
        settings = Settings(
            name,
            limits,
            env,
            seed,
            packages,
            imports,
            isolation,
            policy,
            display,
            network,
            allow_sdist=allow_sdist,
            environment=environment,
        )
        transport = shared(find_address(url, token))
        shown = answer_session(transport, calls.create(settings), wait_s, on_progress)
        self._open(transport, shown, wait_s, owned=True)

    @classmethod
    def attach(
        cls,
        session: str,
        *,
        url: str | None = None,
        token: str | None = None,
        wait_s: float = WAIT_S,
    ) -> Sandbox:
        """An existing session, by its id. `close()` leaves it alive; `end()` ends it."""
        transport = shared(find_address(url, token))
        shown = transport.call(Call("GET", session_path(session)))
        box = cls.__new__(cls)
        box._open(transport, shown, wait_s, owned=False)
        return box

    def _open(
        self, transport: Transport, shown: Mapping[str, Any], wait_s: float, *, owned: bool
    ) -> None:
        self._transport = transport
        self._wait_s = wait_s
        self._set(transport, calls.parse_session(shown), owned=owned)

    @property
    def _live(self) -> Transport:
        return self._transport

    def close(self) -> None:
        """Ends the session if this object created it."""
        if self._owned:
            self.end()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception:
            if error is None:  # else the first error is the one that matters
                raise

    def __repr__(self) -> str:
        return f"<Sandbox {self.id} at {self._transport.address.url}>"
