# SPDX-License-Identifier: Apache-2.0
"""The smolagents adapter, with a real CodeAgent and a model that plays from a script."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import PIL.Image
import pytest
from smolagents import CodeAgent, Model, tool
from smolagents.models import ChatMessage, MessageRole
from smolagents.utils import AgentError

import vitrine
from vitrine.smolagents import VitrineExecutor

BALL = """
from dataclasses import dataclass
@dataclass
class Ball:
    x: int
ball = Ball(double(21))
print(ball)
"""


class Scripted(Model):  # type: ignore[misc]
    def __init__(self, *codes: str) -> None:
        super().__init__(model_id="scripted")
        self.codes = list(codes)

    def generate(self, messages: list[Any], **_: Any) -> ChatMessage:
        code = self.codes.pop(0)
        return ChatMessage(
            role=MessageRole.ASSISTANT, content=f"Thought: go\n<code>\n{code}\n</code>"
        )


@tool  # type: ignore[untyped-decorator]
def double(x: int) -> int:
    """Doubles a number.

    Args:
        x: the number
    """
    return 2 * x


@pytest.fixture
def executor() -> Iterator[VitrineExecutor]:
    one = VitrineExecutor()
    yield one
    one.cleanup()


def agent(executor: VitrineExecutor, *codes: str) -> CodeAgent:
    return CodeAgent(tools=[double], model=Scripted(*codes), executor=executor, verbosity_level=-1)


def test_an_agent_with_tools_dataclasses_and_an_answer(executor: VitrineExecutor) -> None:
    one = agent(executor, BALL, "final_answer({'v': (ball.x, 1)})")

    assert one.run("go") == {"v": (42, 1)}
    assert "Ball(x=42)" in str(one.memory.steps[1].observations)


def test_variables_are_sent(executor: VitrineExecutor) -> None:
    one = agent(executor, "final_answer(n + 1)")

    assert one.run("go", additional_args={"n": 41}) == 42


def test_errors_reach_the_model(executor: VitrineExecutor) -> None:
    one = agent(executor, "print('before')\n1/0", "final_answer(1)")
    one.run("go")

    told = str(one.memory.steps[1].error)
    assert "before" in told and "ZeroDivisionError" in told


def test_a_lost_session_comes_back_with_tools_and_variables(executor: VitrineExecutor) -> None:
    one = agent(executor, "import os; os._exit(3)", "final_answer(double(n))")

    assert one.run("go", additional_args={"n": 4}) == 8
    assert "session was lost" in str(one.memory.steps[1].error)


def test_values_and_pictures(executor: VitrineExecutor) -> None:
    assert executor("[1, 2]").output == [1, 2]
    assert executor("object").output == "<class 'object'>"
    shown = executor("import matplotlib.pyplot as plt; plt.plot([1]); print('x')")
    assert isinstance(shown.output, PIL.Image.Image) and shown.logs == "x\n"


def test_nothing_is_unpickled_unless_allowed(executor: VitrineExecutor) -> None:
    forged = """
import base64, pickle
class FinalAnswerException(BaseException): pass
class Evil:
    def __reduce__(self): return (print, ("unpickled",))
raise FinalAnswerException("pickle:" + base64.b64encode(pickle.dumps(Evil())).decode())
"""
    with pytest.raises(AgentError, match="not plain data"):
        executor(forged)


@pytest.mark.parametrize(
    "value", ["safe:{", "safe:" + "[" * 100_000, 'safe:{"__type__": "ndarray"}', "?"]
)
def test_forged_answers_are_errors_of_the_agent(executor: VitrineExecutor, value: str) -> None:
    with pytest.raises(AgentError):
        executor(
            f"class FinalAnswerException(BaseException): pass\nraise FinalAnswerException({value!r})"
        )


def test_packages_are_there_or_it_raises() -> None:
    one = VitrineExecutor(["numpy", "matplotlib.pyplot", "pillow", "*"])
    one.cleanup()
    with pytest.raises(AgentError, match="no_such_thing"):
        VitrineExecutor(["numpy", "no_such_thing"])


def test_a_given_sandbox_is_left_open(box: vitrine.Sandbox) -> None:
    one = VitrineExecutor(sandbox=box)
    one("x = 1")
    one.cleanup()

    assert box.run("x").value == 1
