# SPDX-License-Identifier: Apache-2.0
"""Which hosts a page of a package index leads to."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from .sealed import __builtins__  # noqa: F401

if TYPE_CHECKING:
    import ssl

_HREF = r"""\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))"""
_LINK = re.compile(r"<a\s[^<>]{0,4000}?" + _HREF, re.IGNORECASE)
_BASE = re.compile(r"<base\s[^<>]{0,4000}?" + _HREF, re.IGNORECASE)


def hosts_of(url: str) -> set[str]:
    import html
    from urllib.parse import urljoin, urlsplit

    page = _page(url)
    based = _BASE.search(page)
    base = urljoin(url, html.unescape(_quoted(based))) if based else url
    hosts: set[str] = set()
    for link in _LINK.finditer(page):
        try:
            split = urlsplit(urljoin(base, html.unescape(_quoted(link))))
            port = split.port or (443 if split.scheme == "https" else 80)
        except ValueError:  # no address at all
            continue
        if split.scheme in ("http", "https") and split.hostname:
            hosts.add(f"{split.hostname}:{port}")
    return hosts


def _quoted(found: re.Match[str]) -> str:
    return found[1] or found[2] or found[3] or ""


def context() -> ssl.SSLContext:
    import ssl

    return ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or None)


def _page(url: str) -> str:
    """ "" for one that cannot be had: uv tells what is wrong with it."""
    import base64
    import http.client
    import urllib.request
    from urllib.parse import unquote, urlsplit, urlunsplit

    split = urlsplit(url)
    headers = {"Accept": "text/html"}
    if split.username is not None:
        secret = f"{unquote(split.username)}:{unquote(split.password or '')}".encode()
        headers["Authorization"] = "Basic " + base64.b64encode(secret).decode()
    plain = urlunsplit(split._replace(netloc=split.netloc.rpartition("@")[2]))
    try:
        request = urllib.request.Request(plain, headers=headers)
        with urllib.request.urlopen(request, timeout=20, context=context()) as answer:
            return str(answer.read(8 << 20).decode("utf-8", "replace"))
    except (OSError, ValueError, http.client.HTTPException):
        return ""
