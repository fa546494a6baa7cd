"""Reads the HTTP header Link (RFC 8288), with which documents of every type name others."""

from __future__ import annotations

import re

_TOKEN = r"[\w!#$%&'*+.^`|~-]++"
_PARAM = rf"""\s*+;\s*+{_TOKEN}(?:\s*+=\s*+(?:"(?:[^"\\]|\\.)*+"|[^\s;,"]*+))?+"""
_LINK = re.compile(rf"<([^<>]*+)>((?:{_PARAM})*+)")
_NAMED = re.compile(rf"""\s*+;\s*+({_TOKEN})(?:\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s;,"]*+)))?+""")


def linked_as(relation: str, header: str) -> str | None:
    """The first URL that the document itself has this relation to, as written."""
    for url, params in _LINK.findall(header):
        given: dict[str, str] = {}
        for name, quoted, plain in _NAMED.findall(params):
            given.setdefault(name.lower(), quoted or plain)
        # With an anchor, the link is that of another document.
        if relation in given.get("rel", "").lower().split() and "anchor" not in given:
            return str(url).strip() or None
    return None
