# SPDX-License-Identifier: Apache-2.0
"""`python_sandbox` as a LangChain tool. Needs `vitrine[langchain]`; no model is called.

With a model it is one line: `create_agent(model, tools=[python_sandbox()])`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import vitrine
from langchain_core.messages import ToolMessage
from vitrine.langchain import PyodideSandbox, PythonSandboxTool, python_sandbox


def call(tool: PythonSandboxTool, code: str) -> ToolMessage:
    """As an agent calls it: with a tool call, which is answered by a message."""
    request: Any = {"type": "tool_call", "name": tool.name, "id": "1", "args": {"code": code}}
    message = tool.invoke(request)
    assert isinstance(message, ToolMessage)
    return message


def main() -> None:
    with vitrine.local(), python_sandbox() as tool:
        call(tool, "import statistics; data = [1, 2, 3, 4, 10]")
        print("mean:", call(tool, "print(statistics.mean(data))").content)

        plot = call(tool, "import matplotlib.pyplot as plt; plt.hist(data); plt.show()")
        print("plot:", plot.content, "-", len(plot.artifact.images[0]), "bytes of PNG")

        print("error:", str(call(tool, "data.mean()").content).splitlines()[-1])
        print("async:", asyncio.run(tool.ainvoke({"code": "sum(data)"})))

        # In place of langchain-sandbox: the same class, the same result, and pictures.
        answer = asyncio.run(PyodideSandbox().execute("print('no Deno, no WebAssembly')"))
        print(answer.status, answer.stdout, end="")


if __name__ == "__main__":
    main()
