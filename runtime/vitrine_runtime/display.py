# SPDX-License-Identifier: Apache-2.0
"""display() and clear_output(), as notebooks have them; both are builtins of a session."""

from __future__ import annotations

from typing import Any

from .channel import CLEAR_OUTPUT, encodable
from .figures import Figures
from .mime import Bundle, bundle_of, encode
from .results import Results
from .sealed import __builtins__  # noqa: F401


class DisplayHandle:
    """A place in the output whose content can be replaced."""

    def __init__(self, display: Display, display_id: str) -> None:
        self._display = display
        self.display_id = display_id

    def display(self, obj: object, **options: Any) -> None:
        self._display(obj, display_id=self.display_id, **options)

    def update(self, obj: object, **options: Any) -> None:
        self._display(obj, display_id=self.display_id, update=True, **options)

    def __repr__(self) -> str:
        return f"<DisplayHandle display_id={self.display_id}>"


class Display:
    """The functions bound to a session's results."""

    __slots__ = ("_results", "_figures")

    def __init__(self, results: Results, figures: Figures) -> None:
        self._results = results
        self._figures = figures

    def __repr__(self) -> str:
        return "<function display>"

    def __call__(
        self,
        *objs: object,
        include: object = None,
        exclude: object = None,
        metadata: dict[str, object] | None = None,
        transient: dict[str, object] | None = None,
        display_id: object = None,
        raw: bool = False,
        clear: bool = False,
        update: bool = False,
    ) -> DisplayHandle | None:
        """Shows each object as a result. With `display_id` (True makes one) returns a handle."""
        if update and display_id is None:
            raise TypeError("display_id is required for update=True")
        if clear:
            self.clear_output(wait=True)
        if display_id is True or (display_id is None and transient is None):
            name = self._results.new_display_id() if display_id is True else ""
        else:
            name = str(display_id if display_id is not None else transient.get("display_id", ""))  # type: ignore[union-attr]
        for obj in objs:
            bundle, about = _raw_bundle(obj) if raw else bundle_of(obj)
            bundle = _chosen(bundle, include, exclude)
            if metadata:
                about.update(metadata)
            self._results.send_bundle(bundle, about, name, update)
            self._figures.returned(obj)
        return DisplayHandle(self, name) if name else None

    def update_display(self, obj: object, *, display_id: str, **options: Any) -> None:
        """Replaces what is shown under `display_id`."""
        self(obj, display_id=display_id, update=True, **options)

    def clear_output(self, wait: bool = False) -> None:
        """Clears what the execution has shown; with `wait`, when the next thing is shown."""
        metadata = b'{"wait": true}' if wait else b'{"wait": false}'
        self._results.send(CLEAR_OUTPUT, "", {}, metadata)


def _raw_bundle(obj: object) -> tuple[Bundle, dict[str, object]]:
    if not isinstance(obj, dict):
        raise TypeError("display(raw=True) takes dicts of MIME type to data")
    bundle: Bundle = {}
    for mime, data in obj.items():
        name = encodable(str(mime), 200)
        encoded = encode(name, data)
        if encoded is not None:
            bundle[name] = encoded
    return bundle, {}


def _chosen(bundle: Bundle, include: object, exclude: object) -> Bundle:
    if include is not None:
        wanted = {include} if isinstance(include, str) else set(include)  # type: ignore[call-overload]
        bundle = {mime: data for mime, data in bundle.items() if mime in wanted}
    if exclude is not None:
        unwanted = {exclude} if isinstance(exclude, str) else set(exclude)  # type: ignore[call-overload]
        bundle = {mime: data for mime, data in bundle.items() if mime not in unwanted}
    return bundle
