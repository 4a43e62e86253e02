# SPDX-License-Identifier: Apache-2.0
"""The classes of `IPython.display` that code uses most, for sessions without IPython."""

from __future__ import annotations

import json
import os

from .sealed import __builtins__  # noqa: F401


class DisplayObject:
    """Data of one kind, given directly, as a file name, or as both `data` and `filename`."""

    _read_mode = "r"

    def __init__(
        self,
        data: object = None,
        url: str | None = None,
        filename: object = None,
        metadata: dict[str, object] | None = None,
    ) -> None:
        if filename is None and isinstance(data, os.PathLike):
            data, filename = None, data
        self.data = data
        self.url = url
        self.filename = None if filename is None else os.fspath(filename)  # type: ignore[call-overload]
        self.metadata = metadata or {}
        self.reload()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object>"

    def reload(self) -> None:
        if self.filename is not None:
            encoding = None if "b" in self._read_mode else "utf-8"
            with open(self.filename, self._read_mode, encoding=encoding) as file:
                self.data = file.read()


class Pretty(DisplayObject):
    def __repr__(self) -> str:
        return str(self.data)


class HTML(DisplayObject):
    def _repr_html_(self) -> object:
        return self.data


class Markdown(DisplayObject):
    def _repr_markdown_(self) -> object:
        return self.data


class Latex(DisplayObject):
    def _repr_latex_(self) -> object:
        return self.data


class Math(DisplayObject):
    def _repr_latex_(self) -> str:
        return "$\\displaystyle " + str(self.data).strip("$") + "$"


class SVG(DisplayObject):
    def _repr_svg_(self) -> object:
        return self.data.decode("utf-8") if isinstance(self.data, bytes) else self.data


class Javascript(DisplayObject):
    def _repr_javascript_(self) -> object:
        return self.data


class JSON(DisplayObject):
    def __init__(self, data: object = None, *arguments, expanded: bool = False, **options) -> None:
        self._expanded = expanded
        super().__init__(data, *arguments, **options)

    def _repr_json_(self) -> object:
        data = self.data
        if isinstance(data, str):
            data = json.loads(data)
        return data, {"expanded": self._expanded}


_SIGNATURES = ((b"\x89PNG", "image/png"), (b"\xff\xd8", "image/jpeg"), (b"GIF8", "image/gif"))


class Image(DisplayObject):
    """A picture from bytes or from a file below the session; nothing is fetched from URLs."""

    _read_mode = "rb"

    def __init__(
        self,
        data: object = None,
        url: str | None = None,
        filename: object = None,
        format: str | None = None,
        embed: bool | None = None,
        width: int | None = None,
        height: int | None = None,
        **options: object,
    ) -> None:
        if isinstance(data, str) and filename is None:
            if data.startswith(("http://", "https://")):
                data, url = None, data
            else:
                data, filename = None, data
        self.format, self.width, self.height = format, width, height
        super().__init__(data, url, filename)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        about = {k: v for k, v in (("width", self.width), ("height", self.height)) if v is not None}
        if not isinstance(self.data, bytes):
            size = "".join(f' {name}="{value}"' for name, value in about.items())
            return {"text/html": f'<img src="{self.url}"{size}>'}
        mime = "image/png" if self.format is None else f"image/{self.format.replace('jpg', 'jpeg')}"
        for start, name in _SIGNATURES:
            if self.data.startswith(start):
                mime = name
        return {mime: self.data}, {mime: about} if about else {}


CLASSES = (DisplayObject, Pretty, HTML, Markdown, Latex, Math, SVG, Javascript, JSON, Image)
