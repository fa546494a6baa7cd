"""The query of a link as browsers send it: in the charset of the page that it stands on. All else of a URL is UTF-8."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def queries_in(codec: str, hrefs: Sequence[str]) -> list[str]:
    """The hrefs of a page that was read with this Python codec; of UTF-16 queries are sent in UTF-8 too."""
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
        # What the charset does not have goes as a character reference, escaped.
        return f"%26%23{ord(text)}%3B"
