# SPDX-License-Identifier: Apache-2.0
"""LangChain: `pip install 'vitrine[langchain]'`.

`python_sandbox()` is a tool for agents:

    >>> tool = python_sandbox(limits={"memory_mb": 512})
    >>> agent = create_agent(model, tools=[tool])

The classes of langchain-sandbox are here too, and run on Vitrine instead:

    >>> from vitrine.langchain import PyodideSandbox
    >>> result = await PyodideSandbox(stateful=True).execute("x = 1")
"""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal

try:
    from langchain_core.tools import BaseTool
    from pydantic import BaseModel, Field, PrivateAttr
except ImportError as error:
    raise ImportError("this needs langchain-core: pip install 'vitrine[langchain]'") from error

from .calls import Limits
from .errors import NotFound, SessionDead
from .langchain_sandbox import (
    CodeExecutionResult,
    PyodideSandbox,
    PyodideSandboxTool,
    SyncPyodideSandbox,
)
from .results import Result
from .sandbox import Sandbox

Content = str | list[str | dict[str, Any]]

DESCRIPTION = """\
Runs Python code in a sealed, stateful session and returns what it printed, the value of its last \
expression and any error.
- Variables, imports and files stay from call to call, as in a notebook.
- numpy, pandas and matplotlib are installed; figures and images are captured by themselves.
- {network} Files live in the current directory."""
SEALED = "There is no network."


class _Input(BaseModel):
    code: str = Field(description="Python code to run.")


class PythonSandboxTool(BaseTool):
    """The tool behind `python_sandbox()`.

    It returns text; a `ToolMessage` has the whole `Result` as its `artifact`, so
    `message.artifact.images` are the plots. The first call creates the session.
    """

    name: str = "python_sandbox"
    description: str = DESCRIPTION.format(network=SEALED)
    args_schema: Any = _Input
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    settings: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)
    timeout_seconds: float | None = None
    show_images: bool = False

    _box: Sandbox | None = PrivateAttr(default=None)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def sandbox(self) -> Sandbox:
        """The session behind it; for its files, for instance."""
        with self._lock:
            if self._box is None:
                self._box = Sandbox(name=self.name, **self.settings)
            return self._box

    def _run(self, code: str, **_: Any) -> tuple[Content, Result]:
        box = self.sandbox
        lost = ""
        try:
            result = box.run(code, timeout=self.timeout_seconds)
        except (SessionDead, NotFound) as error:
            lost = f"[the earlier session is gone ({error.detail}); its variables are lost]\n"
            with self._lock:
                if self._box is box:
                    box.end()
                    self._box = None
            result = self.sandbox.run(code, timeout=self.timeout_seconds)
        return self._content(lost, result), result

    async def _arun(self, code: str, **_: Any) -> tuple[Content, Result]:
        try:
            return await asyncio.to_thread(self._run, code)
        except asyncio.CancelledError:
            if self._box is not None:
                await asyncio.to_thread(self._box.interrupt)
            raise

    def _content(self, lost: str, result: Result) -> Content:
        text = lost + (str(result) or "(no output)")
        if not result.state_kept:
            text += f"\n[{result.outcome}: the session is gone, and its variables with it]"
        images = result.images
        if images and not self.show_images:
            text += f"\n[{len(images)} image{'s' if len(images) > 1 else ''} captured]"
        if not images or not self.show_images:
            return text
        return [{"type": "text", "text": text}, *map(_image_block, images)]

    def close(self) -> None:
        """Ends the session. The next call creates another one."""
        with self._lock:
            box, self._box = self._box, None
        if box is not None:
            box.close()

    def __enter__(self) -> PythonSandboxTool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def python_sandbox(
    *,
    timeout_seconds: float | None = None,
    show_images: bool = False,
    limits: Limits | None = None,
    env: Mapping[str, str] | None = None,
    seed: int | None = None,
    packages: Sequence[str] = (),
    network: Sequence[str] = (),
    url: str | None = None,
    token: str | None = None,
) -> PythonSandboxTool:
    """A tool that runs Python in one stateful session.

    >>> with python_sandbox() as tool:
    ...     tool.invoke({"code": "print(2 + 2)"})
    '4'

    Args:
        timeout_seconds: for one call; by default the session's limit.
        show_images: also pass images to the model, as content blocks.
        limits, env, seed, packages, network, url, token: as for `vitrine.Sandbox`.
    """
    given = {
        "limits": limits,
        "env": env,
        "seed": seed,
        "packages": packages,
        "network": network,
        "url": url,
        "token": token,
    }
    settings = {name: value for name, value in given.items() if value}
    if seed is not None:
        settings["seed"] = seed
    reach = f"Over the network only these can be reached: {', '.join(network)}."
    return PythonSandboxTool(
        description=DESCRIPTION.format(network=reach if network else SEALED),
        settings=settings,
        timeout_seconds=timeout_seconds,
        show_images=show_images,
    )


def _image_block(image: bytes) -> dict[str, Any]:
    kind = "jpeg" if image.startswith(b"\xff\xd8") else "png"
    data = base64.b64encode(image).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{kind};base64,{data}"}}


__all__ = [
    "CodeExecutionResult",
    "PyodideSandbox",
    "PyodideSandboxTool",
    "PythonSandboxTool",
    "SyncPyodideSandbox",
    "python_sandbox",
]
