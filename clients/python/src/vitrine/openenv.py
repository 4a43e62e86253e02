# SPDX-License-Identifier: Apache-2.0
"""OpenEnv's coding environment on a Vitrine server: `pip install 'vitrine[openenv]'`.

    >>> with CodingEnv.local().sync() as env:
    ...     env.reset()
    ...     env.step(CodeAction(code="print(6 * 7)")).observation.stdout
    '42\\n'

The classes are OpenEnv's own, extended: whatever takes an `EnvClient` takes these. Each client is
one session of its own on the server. For many at once, see `VectorCodingEnv`.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

try:
    from openenv.core.client_types import StepResult
    from openenv.core.env_client import EnvClient
    from openenv.core.env_server.types import Action, Observation, State
    from openenv.core.sync_client import SyncEnvClient
except ImportError as error:
    raise ImportError("this needs openenv-core: pip install 'vitrine[openenv]'") from error

from .results import to_image
from .server import Server, local
from .transport import find_address

if TYPE_CHECKING:
    from PIL.Image import Image

MESSAGE_TIMEOUT_S = 60.0


class CodeAction(Action):
    """Code to run in the environment's session."""

    code: str
    capture_screenshot: bool = False
    """Also take the screen while the code's windows are alive."""
    render_timeout: float | None = None
    """Seconds to wait for a still screen; by default the server's."""
    timeout_s: float | None = None
    """Seconds that the code may run; keep it below the client's own `timeout_s`."""


class CodeObservation(Observation):
    """What became of it."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    screenshot: str | None = None
    """The screen as a base64 PNG, if it was asked for; None if it could not be taken."""

    @property
    def image(self) -> Image | None:
        """The screenshot as a PIL image."""
        return to_image(base64.b64decode(self.screenshot)) if self.screenshot else None


class CodeState(State):
    last_exit_code: int = 0


class CodingEnv(EnvClient):
    """A client of the coding environment.

    >>> async with CodingEnv("http://127.0.0.1:8000") as env:
    ...     await env.reset(seed=7)
    ...     result = await env.step(CodeAction(code="1 + 1"))

    Args:
        base_url: of the server; by default as for `vitrine.Sandbox`.
        additional_imports: packages that the code uses.
        executor_backend: the language policy, such as "restrictedpython" or "smolagents"; by
            default real Python. These two are sent with every `reset`; a server that does
            not know them ignores them.
        timeout_s: how long to wait for one answer.
        token: if the server needs one.
        allow_sdist: packages that have no wheel may be built; as the two above.
        environment: one that the server's operator built; as the three above.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        additional_imports: Sequence[str] | None = None,
        executor_backend: str | None = None,
        timeout_s: float | None = None,
        token: str | None = None,
        allow_sdist: bool = False,
        environment: str | None = None,
        **kwargs: Any,
    ) -> None:
        if timeout_s is not None:
            kwargs["message_timeout_s"] = timeout_s
        kwargs.setdefault("message_timeout_s", MESSAGE_TIMEOUT_S)
        super().__init__(base_url=_with_token(base_url, token), **kwargs)
        self._reset_defaults: dict[str, Any] = {}
        if additional_imports:
            self._reset_defaults["additional_imports"] = list(additional_imports)
        if executor_backend:
            self._reset_defaults["executor_backend"] = executor_backend
        if allow_sdist:
            self._reset_defaults["allow_sdist"] = True
        if environment:
            self._reset_defaults["environment"] = environment

    @classmethod
    def local(
        cls,
        *,
        additional_imports: Sequence[str] | None = None,
        executor_backend: str | None = None,
        timeout_s: float | None = None,
        **kwargs: Any,
    ) -> CodingEnv:
        """On the server that runs here, or on one that is started, and ends with this client."""
        server = local(default=False)
        return cls(
            server.url,
            additional_imports=additional_imports,
            executor_backend=executor_backend,
            timeout_s=timeout_s,
            token=server.token,
            provider=_LocalServer(server),
            **kwargs,
        )

    @classmethod
    async def from_docker_image(
        cls,
        image: str,
        provider: Any = None,
        *,
        additional_imports: Sequence[str] | None = None,
        executor_backend: str | None = None,
        timeout_s: float = 30.0,
        **kwargs: Any,
    ) -> CodingEnv:
        """From a container that is started for it; `timeout_s` is for that start."""
        from openenv.core.containers.runtime import LocalDockerProvider

        variables = dict(kwargs.pop("env_vars", None) or {})
        if additional_imports:
            variables["ADDITIONAL_IMPORTS"] = ",".join(additional_imports)
        if executor_backend:
            variables["EXECUTOR_BACKEND"] = executor_backend
        if variables:
            kwargs["env_vars"] = variables
        provider = provider or LocalDockerProvider()
        url = provider.start_container(image, **kwargs)
        provider.wait_for_ready(url, timeout_s=timeout_s)
        client = cls(url, provider=provider)
        await client.connect()
        return client

    async def reset(self, **kwargs: Any) -> StepResult:
        """A new episode in a fresh session. `seed` and `episode_id` are the usual arguments."""
        return await super().reset(**{**self._reset_defaults, **kwargs})

    async def step(self, action: CodeAction | str, **kwargs: Any) -> StepResult:
        """Runs the action's code. Text alone is taken as code."""
        if isinstance(action, str):
            action = CodeAction(code=action)
        return await super().step(action, **kwargs)

    def _step_payload(self, action: CodeAction) -> dict[str, Any]:
        payload: dict[str, Any] = {"code": action.code}
        # Only if asked for: OpenEnv's own server refuses the mere keys.
        if action.capture_screenshot:
            payload["capture_screenshot"] = True
        if action.render_timeout is not None:
            payload["render_timeout"] = action.render_timeout
        if action.timeout_s is not None:
            payload["timeout_s"] = action.timeout_s
        return payload

    def _parse_result(self, payload: dict[str, Any]) -> StepResult:
        given = dict(payload.get("observation") or {})
        known = {name: given[name] for name in CodeObservation.model_fields if name in given}
        observation = CodeObservation(**known)
        reward, done = payload.get("reward"), bool(payload.get("done", False))
        if observation.screenshot is None:
            observation.screenshot = observation.metadata.get("screenshot")
        observation.reward, observation.done = reward, done
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> CodeState:
        return CodeState(
            episode_id=payload.get("episode_id"),
            step_count=payload.get("step_count", 0),
            last_exit_code=payload.get("last_exit_code", 0),
        )


class VectorCodingEnv:
    """Many environments at once, each a session of its own, stepped together.

    >>> async with VectorCodingEnv(64) as envs:
    ...     await envs.reset()
    ...     results = await envs.step([f"print({i})" for i in range(64)])

    `.sync()` is the same for code without asyncio. An action of None leaves that environment alone.
    """

    def __init__(self, count: int, base_url: str | None = None, **kwargs: Any) -> None:
        if count < 1:
            raise ValueError("count must be at least 1")
        self.envs = [CodingEnv(base_url, **kwargs) for _ in range(count)]

    def __len__(self) -> int:
        return len(self.envs)

    async def connect(self) -> VectorCodingEnv:
        await asyncio.gather(*(env.connect() for env in self.envs))
        return self

    async def disconnect(self) -> None:
        await asyncio.gather(*(env.disconnect() for env in self.envs))

    async def reset(self, *, seeds: Sequence[int] | None = None, **kwargs: Any) -> list[StepResult]:
        """A new episode everywhere; `seeds` has one for each."""
        own = [{"seed": seed} for seed in self._one_each(seeds)] if seeds is not None else None
        return await asyncio.gather(
            *(
                env.reset(**kwargs, **(own[index] if own else {}))
                for index, env in enumerate(self.envs)
            )
        )

    async def step(self, actions: Sequence[CodeAction | str | None]) -> list[StepResult | None]:
        """One action for each; the results are in the same order."""

        async def one(env: CodingEnv, action: CodeAction | str | None) -> StepResult | None:
            return None if action is None else await env.step(action)

        pairs = zip(self.envs, self._one_each(actions), strict=True)
        return await asyncio.gather(*(one(env, action) for env, action in pairs))

    async def state(self) -> list[CodeState]:
        return list(await asyncio.gather(*(env.state() for env in self.envs)))

    async def close(self) -> None:
        await asyncio.gather(*(env.close() for env in self.envs))

    def sync(self) -> SyncEnvClient:
        return SyncEnvClient(self)

    async def __aenter__(self) -> VectorCodingEnv:
        return await self.connect()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _one_each(self, given: Sequence[Any]) -> Sequence[Any]:
        if isinstance(given, str) or len(given) != len(self.envs):
            raise ValueError(f"one for each of the {len(self.envs)} environments, please")
        return given


class _LocalServer:
    """What an `EnvClient` closes at its end."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def stop(self) -> None:
        self._server.close()


def _with_token(url: str | None, token: str | None) -> str:
    """OpenEnv's clients know no tokens; as the password of the URL they are sent all the same."""
    if url is not None and url.startswith(("ws://", "wss://")):
        url = "http" + url[2:]
    address = find_address(url, token)
    if not address.token or "@" in address.url:
        return address.url
    scheme, _, rest = address.url.partition("://")
    return f"{scheme}://token:{quote(address.token, safe='')}@{rest}"


__all__ = ["CodeAction", "CodeObservation", "CodeState", "CodingEnv", "VectorCodingEnv"]
