# SPDX-License-Identifier: Apache-2.0
"""The LangChain adapter, with the real langchain-core, beside the real langchain-sandbox."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import warnings
from typing import Any

import langchain_sandbox.pyodide as original
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.prebuilt import ToolNode

import vitrine
from vitrine import langchain
from vitrine.langchain import (
    PyodideSandbox,
    PyodideSandboxTool,
    SyncPyodideSandbox,
    python_sandbox,
)

PLOT = "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"


def tool_call(code: str) -> Any:
    return {"type": "tool_call", "name": "python_sandbox", "id": "7", "args": {"code": code}}


def test_the_tool_keeps_state_and_captures_plots() -> None:
    with python_sandbox() as tool:
        assert tool.invoke({"code": "x = 4"}) == "(no output)"
        assert tool.invoke("print(x)") == "4"
        message = tool.invoke(tool_call(PLOT))

    assert isinstance(message, ToolMessage)
    assert "1 image captured" in str(message.content)
    assert message.artifact.images[0].startswith(b"\x89PNG")


def test_the_model_reads_errors_and_notes() -> None:
    with python_sandbox() as tool:
        text = tool.invoke("print('before')\nimport nope")

    assert text.startswith("before") and "ModuleNotFoundError" in text and "[note:" in text


def test_a_lost_session_is_told_and_replaced() -> None:
    with python_sandbox() as tool:
        assert "session is gone" in tool.invoke("import os; os._exit(3)")
        answer = tool.invoke("print(1)")

    assert "variables are lost" in answer and answer.endswith("1")


def test_pictures_for_the_model() -> None:
    with python_sandbox(show_images=True) as tool:
        content = tool.invoke(tool_call(PLOT)).content

    assert [block["type"] for block in content] == ["text", "image_url"]
    assert content[1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


def test_the_models_view_of_the_tool() -> None:
    tool = python_sandbox()

    assert tool.name == "python_sandbox" and "stateful" in tool.description
    assert list(tool.args) == ["code"]


async def test_async_and_cancelled() -> None:
    with python_sandbox() as tool:
        assert await tool.ainvoke({"code": "1 + 1"}) == "2"
        task = asyncio.create_task(tool.ainvoke({"code": "import time; time.sleep(60)"}))
        while tool.sandbox.info().state != "busy":
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.wait_for(tool.ainvoke({"code": "2"}), 20) == "2"


def test_in_a_langgraph_tool_node() -> None:
    from langgraph.graph import END, START, MessagesState, StateGraph

    with python_sandbox() as tool:
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode([tool]))
        graph.add_edge(START, "tools")
        graph.add_edge("tools", END)
        asked = AIMessage(content="", tool_calls=[tool_call("print(6 * 7)")])
        answer = graph.compile().invoke({"messages": [asked]})

    assert answer["messages"][-1].content == "42"


# ---- in place of langchain-sandbox


@pytest.mark.parametrize("name", ["PyodideSandbox", "SyncPyodideSandbox"])
def test_the_arguments_are_those_of_the_original(name: str) -> None:
    for method in ("__init__", "execute"):
        theirs = inspect.signature(getattr(getattr(original, name), method)).parameters
        ours = inspect.signature(getattr(getattr(langchain, name), method)).parameters

        assert [*theirs] == [*ours][: len(theirs)]
        for key, parameter in theirs.items():
            assert ours[key].default == parameter.default and ours[key].kind == parameter.kind
    assert inspect.iscoroutinefunction(getattr(langchain, name).execute) == (
        name == "PyodideSandbox"
    )


def test_the_result_has_the_fields_of_the_original() -> None:
    theirs = [field.name for field in dataclasses.fields(original.CodeExecutionResult)]
    ours = [field.name for field in dataclasses.fields(langchain.CodeExecutionResult)]

    assert ours[: len(theirs)] == theirs


async def test_stateless() -> None:
    sandbox = PyodideSandbox()
    result = await sandbox.execute("print('hi'); x = 1; x + 1")

    assert (result.status, result.stdout, result.stderr, result.result) == (
        "success",
        "hi\n",
        None,
        2,
    )
    assert result.session_bytes is None and result.session_metadata is None
    assert (await sandbox.execute("x")).status == "error"


async def test_stateful_as_its_readme_shows() -> None:
    sandbox = PyodideSandbox(stateful=True)
    first = await sandbox.execute("x = [1, 2]")
    second = await sandbox.execute(
        "float(sum(x))",
        session_bytes=first.session_bytes,
        session_metadata=first.session_metadata,
        timeout_seconds=5,
    )

    assert second.result == 3.0 and second.session_bytes == first.session_bytes
    vitrine.Sandbox.attach((second.session_metadata or {})["vitrine_session"]).end()


def test_synchronously_with_errors_timeouts_and_plots() -> None:
    sandbox = SyncPyodideSandbox()

    failed = sandbox.execute("print(1)\n1/0")
    late = sandbox.execute("while True: pass", timeout_seconds=0.3)
    shown = sandbox.execute(PLOT, memory_limit_mb=300)

    assert (failed.status, failed.stdout) == ("error", "1\n")
    assert "ZeroDivisionError" in (failed.stderr or "")
    assert late.status == "error" and "timed out after" in (late.stderr or "")
    assert shown.status == "success" and len(shown.images) == 1


@pytest.mark.parametrize("end", ["gone", "dead"])
def test_lost_state_is_an_error_that_goes_on(end: str) -> None:
    sandbox = SyncPyodideSandbox(stateful=True)
    first = sandbox.execute("import os; os._exit(1)" if end == "dead" else "1")
    if end == "gone":
        vitrine.Sandbox.attach((first.session_metadata or {})["vitrine_session"]).end()

    lost = sandbox.execute("x", session_bytes=first.session_bytes)
    after = sandbox.execute("6 * 7", session_bytes=lost.session_bytes)

    assert lost.status == "error" and "fresh session" in (lost.stderr or "")
    assert after.result == 42
    vitrine.Sandbox.attach((after.session_metadata or {})["vitrine_session"]).end()


def test_the_tool_of_the_original() -> None:
    tool = PyodideSandboxTool(timeout_seconds=20)

    assert tool.name == original.PyodideSandboxTool.model_fields["name"].default
    assert tool.invoke({"code": "print(2 + 2)"}) == "4\n"
    assert tool.invoke("1/0").startswith("Error during execution: Traceback")
    theirs = {"name", "description", *inspect.get_annotations(original.PyodideSandboxTool)}
    ours = set(PyodideSandboxTool.model_fields) | {"_sandbox", "_sync_sandbox"}
    assert theirs <= ours


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_the_stateful_tool_of_the_original(asynchronous: bool) -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph

    class State(MessagesState):
        session_bytes: bytes | None
        session_metadata: dict[str, Any] | None

    graph = StateGraph(State)
    graph.add_node("tools", ToolNode([PyodideSandboxTool(stateful=True)]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    app = graph.compile(checkpointer=InMemorySaver())

    async def say(code: str, **more: Any) -> Any:
        call = {**tool_call(code), "name": "python_code_sandbox"}
        given: Any = {"messages": [AIMessage(content="", tool_calls=[call])], **more}
        config: Any = {"configurable": {"thread_id": "1"}}
        return await app.ainvoke(given, config) if asynchronous else app.invoke(given, config)

    first = await say("x = 42", session_bytes=None, session_metadata=None)
    second = await say("print(x)")

    assert second["messages"][-1].content == "42\n"
    assert second["session_bytes"] == first["session_bytes"]
    vitrine.Sandbox.attach(second["session_metadata"]["vitrine_session"]).end()


def test_bytes_of_others_are_refused_and_never_unpickled() -> None:
    with pytest.raises(ValueError, match="not from Vitrine"):
        SyncPyodideSandbox(stateful=True).execute("1", session_bytes=b"\x80\x04.")


def test_hosts_that_are_named_may_be_reached() -> None:
    code = "import os; print(os.environ['HTTPS_PROXY'])"

    result = SyncPyodideSandbox(allow_net=["example.org"]).execute(code)
    with python_sandbox(network=["example.org"]) as tool:
        answer = tool.invoke({"code": code})

    assert result.status == "success" and "127.0.0.1" in str(result.stdout)
    assert "127.0.0.1" in answer and "example.org" in tool.description


def test_what_cannot_be_opened_warns() -> None:
    with pytest.warns(UserWarning, match="allow_net=True has no effect"):
        PyodideSandbox(allow_net=True)
    with pytest.warns(UserWarning, match="allow_env has no effect"):
        PyodideSandbox(allow_env=["HOME"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PyodideSandbox(allow_read=True, allow_write=True, allow_run=["ls"], allow_ffi=True)
