# SPDX-License-Identifier: Apache-2.0
"""Results of an execution: values, displays and updates, within the execution's byte limit."""

from __future__ import annotations

import json
import sys
from _thread import allocate_lock, get_ident

from .channel import DISPLAY, UPDATE_DISPLAY, VALUE, Channel, encodable
from .errors import FAILURES
from .execution import Execution
from .mime import Bundle, Metadata, bundle_of
from .sealed import __builtins__  # noqa: F401

OVERHEAD = 64  # bytes counted for every result, so that a million empty ones are bounded too
MAX_RESULT = 31 << 20  # bytes of one result: a message holds 32 MiB
SIMPLE = frozenset((int, float, bool, complex))
NO_METADATA = b"{}"


class Results:
    """Sends results of the current execution. Any thread may display; the main one finishes."""

    __slots__ = ("current", "_channel", "_main", "_lock", "_displays", "over")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.current: Execution | None = None
        self._main = 0
        self._lock = allocate_lock()
        self._displays = 0
        self.over = False

    def begin(self, execution: Execution) -> None:
        self.current = execution
        self.over = False
        self._main = get_ident()

    def end(self) -> None:
        """After this no thread sends a result; waits for one that is just doing so."""
        self.current = None
        if self._lock.locked():
            if self._lock.acquire(timeout=1):
                self._lock.release()
            else:
                self._lock = allocate_lock()

    def on_main_thread(self) -> bool:
        return get_ident() == self._main

    def value(self, value: object) -> None:
        """The value of a last expression."""
        if type(value) in SIMPLE:
            try:
                text = repr(value)
            except ValueError:  # an int with too many digits
                bundle, metadata = bundle_of(value)
            else:
                self.send(VALUE, "", {"text/plain": text.encode()}, NO_METADATA)
                return
        else:
            bundle, metadata = bundle_of(value)
        self.send(VALUE, "", bundle, _dump(metadata))

    def display(self, value: object, display_id: str = "", update: bool = False) -> None:
        bundle, metadata = bundle_of(value)
        self.send_bundle(bundle, metadata, display_id, update)

    def send_bundle(
        self, bundle: Bundle, metadata: Metadata, display_id: str = "", update: bool = False
    ) -> None:
        kind = UPDATE_DISPLAY if update else DISPLAY
        self.send(kind, display_id, bundle, _dump(metadata))

    def new_display_id(self) -> str:
        self._displays += 1
        return f"display-{self._displays}"

    def send(self, kind: int, display_id: str, bundle: Bundle, metadata: bytes) -> None:
        """Sends, or says that there is no room left; off an execution, prints instead."""
        if get_ident() == self._main:
            self._send(kind, display_id, bundle, metadata)
        else:
            with self._lock:
                self._send(kind, display_id, bundle, metadata)

    def _send(self, kind: int, display_id: str, bundle: Bundle, metadata: bytes) -> None:
        execution = self.current
        if execution is None or not self._channel.is_worker():
            _print(bundle)
            return
        size = OVERHEAD + len(metadata)
        for data in bundle.values():
            size += len(data)
        if size > execution.room or size > MAX_RESULT:
            bundle, metadata = self._too_big(execution, bundle, size), NO_METADATA
            if not bundle:
                return
        else:
            execution.room -= size
        if display_id:
            display_id = encodable(display_id, 200).replace("\0", "")
        self._channel.result(execution.id, kind, display_id, bundle, metadata)

    def _too_big(self, execution: Execution, bundle: Bundle, size: int) -> Bundle:
        """The smaller stand-in for a result: its text alone if that fits, else a remark."""
        limit = execution.request["result_limit"]
        kinds = ", ".join(bundle)
        note = f"a result of {size} bytes ({kinds}) did not fit into the limit of {limit} bytes"
        execution.note(f"{note} for the results of one execution: print less, or write to a file")
        if self.over:
            return {}
        self.over = True  # one stand-in per execution
        text = bundle.get("text/plain", b"")
        if len(bundle) > 1 and text and len(text) + OVERHEAD <= execution.room:
            execution.room -= len(text) + OVERHEAD
            return {"text/plain": text}
        return {"text/plain": encodable(f"<{note}>").encode()}


def _dump(metadata: Metadata) -> bytes:
    if not metadata:
        return NO_METADATA
    try:
        return json.dumps(metadata, default=repr).encode("utf-8", "backslashreplace")
    except FAILURES:
        return NO_METADATA


def _print(bundle: Bundle) -> None:
    """For forked children and for threads between executions, which own no execution."""
    text = bundle.get("text/plain")
    if text is not None:
        try:
            sys.stdout.write(text.decode("utf-8", "replace") + "\n")
        except FAILURES:
            pass
