"""Encodes the query of a link as browsers do: in the charset of its page. The other parts of a URL are UTF-8."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def queries_in(codec: str, hrefs: Sequence[str]) -> list[str]:
    """`hrefs` of a page that was read with this Python codec. For UTF-16, browsers send queries in UTF-8 too."""
    if codec.startswith("utf"):
        return list(hrefs)
    return [href if href.isascii() else _sent(codec, href) for href in hrefs]


def _sent(codec: str, href: str) -> str:
    address, hash_mark, fragment = href.partition("#")
    path, mark, query = address.partition("?")
    return path + mark + _NOT_ASCII.sub(lambda found: _escaped(codec, found[0]), query) + hash_mark + fragment


def _escaped(codec: str, text: str) -> str:
    try:
        return quote(text.encode(codec), safe="")
    except UnicodeEncodeError:
        if len(text) > 1:
            return "".join([_escaped(codec, char) for char in text])
        # A character that the charset lacks is sent as an escaped character reference.
        return f"%26%23{ord(text)}%3B"
