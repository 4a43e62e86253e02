# SPDX-License-Identifier: Apache-2.0
"""Run untrusted Python in isolated, stateful sessions.

    >>> import vitrine
    >>> with vitrine.local(), vitrine.Sandbox() as box:
    ...     box.run("x = 20")
    ...     box.run("x + 22").value
    42

`Sandbox` and `AsyncSandbox` are sessions, `run` is a one-shot, `local` finds or starts a server.
Adapters are modules of their own: `vitrine.openenv`, `vitrine.langchain`, `vitrine.smolagents`.
"""

from .async_files import AsyncFiles
from .async_sandbox import AsyncSandbox, run_async
from .async_screen import AsyncRecording
from .calls import Capture, Display, FileInfo, Limits, SessionInfo
from .errors import (
    BadRequest,
    Conflict,
    ConnectionFailed,
    ConnectionLost,
    DiskFull,
    ExecutionFailed,
    InvalidField,
    NotAllowed,
    NotFound,
    NotPlainData,
    QueueFull,
    ServerError,
    SessionDead,
    StartFailed,
    TooLarge,
    Unavailable,
    UnsafePath,
    VitrineError,
)
from .files import Files
from .results import (
    Bundle,
    ErrorInfo,
    Event,
    Frame,
    Outcome,
    PastExecution,
    Result,
    Stack,
    Usage,
)
from .sandbox import Sandbox, run
from .screen import Recording
from .screen_calls import RecordingInfo, Window
from .server import Server, local

__version__ = "0.1.0"

__all__ = [
    "AsyncFiles",
    "AsyncRecording",
    "AsyncSandbox",
    "BadRequest",
    "Bundle",
    "Capture",
    "Conflict",
    "ConnectionFailed",
    "ConnectionLost",
    "DiskFull",
    "Display",
    "ErrorInfo",
    "Event",
    "ExecutionFailed",
    "FileInfo",
    "Files",
    "Frame",
    "InvalidField",
    "Limits",
    "NotAllowed",
    "NotFound",
    "NotPlainData",
    "Outcome",
    "PastExecution",
    "QueueFull",
    "Recording",
    "RecordingInfo",
    "Result",
    "Sandbox",
    "Server",
    "ServerError",
    "SessionDead",
    "SessionInfo",
    "Stack",
    "StartFailed",
    "TooLarge",
    "Unavailable",
    "UnsafePath",
    "Usage",
    "VitrineError",
    "Window",
    "local",
    "run",
    "run_async",
]
