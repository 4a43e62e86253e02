# SPDX-License-Identifier: Apache-2.0
"""Frames to the front: the one place that calls the native `send_*` functions.

Strings are made encodable here. Streams are flushed first, so that what was printed before a
frame also leaves the process before it.
"""

from __future__ import annotations

from itertools import starmap
from typing import Any, Protocol

from .sealed import __builtins__  # noqa: F401
from .streams import Streams

MAX_TEXT = 250_000  # characters: a MiB at most
MAX_NOTE = 4096  # bytes

VALUE, DISPLAY, UPDATE_DISPLAY, CLEAR_OUTPUT = range(4)


class Native(Protocol):
    """The functions of the extension module `_vitrine`."""

    def receive(self) -> tuple[str, int, Any]: ...
    def send_result(
        self, id: int, kind: int, display_id: str, bundle: dict[str, bytes], metadata: bytes
    ) -> None: ...
    def flush(self) -> None: ...
    def send_error(self, id: int, name: str, value: str, traceback: str) -> None: ...
    def send_note(self, id: int, text: str) -> None: ...
    def send_input_request(self, id: int, prompt: str, password: bool) -> None: ...
    def send_package_request(self, id: int, packages: list[str]) -> None: ...
    def send_finished(self, id: int, outcome: str, exit_code: int) -> None: ...
    def send_painted(self, id: int) -> None: ...
    def send_line(self, id: int, line: int) -> None: ...
    def captured(self, id: int, milliseconds: int) -> bool: ...
    def wait_for_loop_end(self, id: int, milliseconds: int) -> str: ...
    def wake_loop_ender(self) -> None: ...
    def strike(self, id: int) -> bool: ...
    def trip(self, id: int, error: type[BaseException], *prefixes: str) -> None: ...
    def untrip(self) -> None: ...
    def executing(self, id: int) -> None: ...
    def is_worker(self) -> bool: ...


def encodable(text: str, limit: int = MAX_TEXT) -> str:
    """`text` without lone surrogates and not too long; the common case costs two checks."""
    if len(text) > limit:
        text = text[:limit] + "..."
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def short(text: str) -> str:
    """`text` made to fit into a note."""
    text = encodable(text, MAX_NOTE - 3)
    if len(text) <= MAX_NOTE // 4:
        return text
    return text.encode()[:MAX_NOTE].decode("utf-8", "ignore")


class Channel:
    """Sends frames. Owned by the session; threads other than the main one may send results."""

    __slots__ = (
        "native",
        "receive",
        "is_worker",
        "executing",
        "told_to_stop",
        "streams",
        "_send_result",
    )

    def __init__(self, native: Native, streams: Streams) -> None:
        self.streams = streams
        self.attach(native)

    def attach(self, native: Native) -> None:
        self.native = native
        self.receive = native.receive
        self.is_worker = native.is_worker
        self.executing = native.executing
        self._send_result = native.send_result
        # Optional: whether the running execution was interrupted from outside.
        self.told_to_stop = getattr(native, "interrupted", None)

    def result(
        self, id: int, kind: int, display_id: str, bundle: dict[str, bytes], metadata: bytes
    ) -> None:
        self.streams.flush()
        self._send_result(id, kind, display_id, bundle, metadata)

    def notes(self, sent: list[object], id: int, notes: list[str]) -> None:
        """Sends those of `notes` not sent yet; for `sent` see `error`."""
        frames = [(id, short(text)) for text in notes[len(sent) :]]
        sent.extend(starmap(self.native.send_note, frames))

    def input_request(self, id: int, prompt: str, password: bool) -> None:
        self.streams.flush()
        self.native.send_input_request(id, encodable(prompt, 8_000), password)

    def package_request(self, id: int, packages: list[str]) -> None:
        self.streams.flush()
        self.native.send_package_request(id, [encodable(name) for name in packages])

    def error(self, sent: list[object], id: int, error: tuple[str, str, str]) -> None:
        """Sends the error and appends to `sent` with no bytecode in between.

        A signal handler of user code may raise after any bytecode; `sent` then still tells the
        truth, so nothing is lost or sent twice. The same holds for `finished`.
        """
        name, value, traceback = error
        frame = (id, encodable(name), encodable(value), encodable(traceback))
        sent.extend(starmap(self.native.send_error, (frame,)))

    def painted(self, sent: list[object], id: int) -> None:
        self.streams.flush()
        sent.extend(map(self.native.send_painted, (id,)))

    def finished(self, sent: list[object], id: int, outcome: str, exit_code: int) -> None:
        sent.extend(starmap(self.native.send_finished, ((id, outcome, exit_code),)))


class Silent:
    """A native module that sends nowhere: for rehearsals."""

    def receive(self) -> tuple[str, int, Any]:
        raise EOFError

    def send_result(
        self, id: int, kind: int, display_id: str, bundle: dict[str, bytes], metadata: bytes
    ) -> None:
        pass

    def flush(self) -> None:
        pass

    def send_error(self, id: int, name: str, value: str, traceback: str) -> None:
        pass

    def send_note(self, id: int, text: str) -> None:
        pass

    def send_input_request(self, id: int, prompt: str, password: bool) -> None:
        pass

    def send_package_request(self, id: int, packages: list[str]) -> None:
        pass

    def send_finished(self, id: int, outcome: str, exit_code: int) -> None:
        pass

    def executing(self, id: int) -> None:
        pass

    def is_worker(self) -> bool:
        return True

    def send_painted(self, id: int) -> None:
        pass

    def send_line(self, id: int, line: int) -> None:
        pass

    def captured(self, id: int, milliseconds: int) -> bool:
        return True

    def wait_for_loop_end(self, id: int, milliseconds: int) -> str:
        return "over"

    def wake_loop_ender(self) -> None:
        pass

    def strike(self, id: int) -> bool:
        return False

    def trip(self, id: int, error: type[BaseException], *prefixes: str) -> None:
        pass

    def untrip(self) -> None:
        pass
