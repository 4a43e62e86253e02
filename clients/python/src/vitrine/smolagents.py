# SPDX-License-Identifier: Apache-2.0
"""smolagents with CPython in an isolated session: `pip install 'vitrine[smolagents]'`.

    >>> from smolagents import CodeAgent
    >>> agent = CodeAgent(tools=[], model=model, executor=VitrineExecutor())
    >>> agent.run("What is the 20th prime?")

Decorators, dataclasses and every other part of the language work, since it is CPython that runs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

try:
    from smolagents.local_python_executor import CodeOutput
    from smolagents.monitoring import AgentLogger, LogLevel
    from smolagents.remote_executors import RemotePythonExecutor
    from smolagents.utils import AgentError
except ImportError as error:
    raise ImportError("this needs smolagents: pip install 'vitrine[smolagents]'") from error

from .calls import Limits
from .errors import NotPlainData
from .results import Result, to_image
from .sandbox import Sandbox

# Where the name to install is not the name to import.
_MODULES = {"pillow": "PIL", "scikit-learn": "sklearn", "opencv-python": "cv2", "pyyaml": "yaml"}
_LOOK = """\
import importlib.util as _u
print(__import__("json").dumps([_m for _m in {names!r} if _u.find_spec(_m) is None]))
del _u
"""


class VitrineExecutor(RemotePythonExecutor):
    """Runs an agent's code in a `Sandbox`.

    If the code kills its session (out of memory, a crash), the agent is notified and continues in a
    new one, with its tools and variables sent again.

    Args:
        additional_imports: packages that the code uses. They must be on the server.
        logger: the agent's, if there is one already.
        allow_pickle: also accept pickled final answers. **Unpickling runs code that the sandbox
            chose, outside of it.** By default only plain data is returned.
        sandbox: an existing one, which `cleanup()` does not close. Without it one is created, with
            `limits`, `env`, `seed`, `url` and `token`.
        timeout: seconds for one step; by default the session's limit.
    """

    def __init__(
        self,
        additional_imports: Sequence[str] = (),
        logger: Any = None,
        allow_pickle: bool = False,
        *,
        sandbox: Sandbox | None = None,
        timeout: float | None = None,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        seed: int | None = None,
        url: str | None = None,
        token: str | None = None,
    ) -> None:
        logger = logger or AgentLogger(level=LogLevel.ERROR)
        super().__init__(list(additional_imports), logger, allow_pickle)
        self._owns_sandbox = sandbox is None
        self.sandbox = sandbox or Sandbox(
            name="smolagents", limits=limits, env=env, seed=seed, url=url, token=token
        )
        self._timeout = timeout
        self._setup: list[str] = []
        self._recording = False
        try:
            self.installed_packages = self.install_packages(list(additional_imports))
        except BaseException:
            self.cleanup()
            raise

    def run_code_raise_errors(self, code: str) -> CodeOutput:
        """Runs code and returns its result; an `AgentError` tells the model what went wrong."""
        result = self.sandbox.run(code, timeout=self._timeout)
        logs = result.stdout + result.stderr
        if result.error and result.error.name == self.FINAL_ANSWER_EXCEPTION:
            answer = self._final_answer(result.error.value)
            return CodeOutput(output=answer, logs=logs, is_final_answer=True)
        if not result.ok:
            raise AgentError(self._explain(result), self.logger)
        if self._recording:
            self._setup.append(code)
        return CodeOutput(output=_output(result), logs=logs, is_final_answer=False)

    def send_tools(self, tools: dict[str, Any]) -> None:
        with self._remember():
            super().send_tools(tools)

    def send_variables(self, variables: dict[str, Any]) -> None:
        with self._remember():
            super().send_variables(variables)

    def install_packages(self, additional_imports: list[str]) -> list[str]:
        """Installs nothing into a running session: raises unless they are installed."""
        wanted = sorted({_module(name) for name in additional_imports} - {"", "*", "smolagents"})
        if not wanted:
            return []
        found = self.sandbox.run(_LOOK.format(names=wanted)).check()
        if missing := json.loads(found.stdout):
            raise AgentError(
                f"not installed on the server: {', '.join(missing)}. "
                "Add them to its image, or leave them out.",
                self.logger,
            )
        return list(additional_imports)

    def cleanup(self) -> None:
        """Ends the session, unless it was given."""
        if self._owns_sandbox:
            self.sandbox.close()

    def _final_answer(self, encoded: str) -> Any:
        try:
            return self._deserialize_final_answer(encoded, self.allow_pickle)
        except Exception as error:  # it was chosen by the sandboxed code: anything may be wrong
            raise AgentError(f"the final answer is not plain data: {error}", self.logger) from error

    def _explain(self, result: Result) -> str:
        text = f"{result.stdout}\nExecuting code yielded an error:\n"
        if result.error:
            text += f"{result.error.name}\n{result.error.value}\n{result.error.traceback}"
        else:
            text += f"{result.outcome}, exit code {result.exit_code}"
        text += "".join(f"\nNote: {note}" for note in result.notes)
        if not result.state_kept:
            self.sandbox.reset()
            for code in self._setup:
                self.sandbox.run(code).check()
            text += "\nThe session was lost. A fresh one was started: define again what you need."
        return text

    @contextlib.contextmanager
    def _remember(self) -> Iterator[None]:
        self._recording = True
        try:
            yield
        finally:
            self._recording = False


def _module(package: str) -> str:
    name = package.split("[")[0].split("=")[0].split("<")[0].split(">")[0].strip()
    return _MODULES.get(name.lower(), name.split(".")[0].replace("-", "_"))


def _output(result: Result) -> Any:
    if images := result.images:
        return to_image(images[-1])
    try:
        return result.value
    except NotPlainData:
        return result.text


__all__ = ["VitrineExecutor"]
