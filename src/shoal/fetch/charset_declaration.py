"""Finds the charset that a page declares: in a `<meta>` element as the HTML standard's prescan does, or in `<?xml ?>`.

A `<meta>` counts if it has a `charset`, or if it is an http-equiv of content-type whose content has one. Unknown labels
are passed over.
"""

from __future__ import annotations

import re

from shoal.fetch.charset_labels import codec_of_label

PRESCAN_BYTES = 1024
"""Here the standard looks at every tag, even within a script. Later, a browser's parser has found the elements."""
_XML = re.compile(rb"""\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"'>]+)""", re.IGNORECASE)
_MARKUP = re.compile(
    rb"<!--.*?(?:-->|\Z)|<(script|style|title|textarea)(?=[\s/>])|<(/?[a-z][^\s/>]*)|<[!/?][^>]*",
    re.IGNORECASE | re.DOTALL,
)
"""A comment, an element with plain text, any other tag, or other markup."""
_ATTRIBUTE = re.compile(rb"""[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"'][^\s>]*+)))?+""")
_END = re.compile(rb"[\s/]*>")
_CHARSET = re.compile(rb"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""", re.IGNORECASE)


def declared_codec(body: bytes, within: int = PRESCAN_BYTES) -> str | None:
    start = body[:within]
    codec = _in_xml(start) or _in_meta(start)
    # A body that could be read byte by byte up to here is not UTF-16.
    return "utf-8" if codec in ("utf-16-le", "utf-16-be") else codec


def _in_xml(start: bytes) -> str | None:
    found = _XML.match(start)
    return _codec(found[1]) if found else None


def _in_meta(start: bytes) -> str | None:
    if b"charset" not in start.lower():
        return None
    at = 0
    while found := _MARKUP.search(start, at):
        at = found.end()
        if found[1] and at > PRESCAN_BYTES:
            closing = re.compile(rb"</" + found[1], re.IGNORECASE).search(start, at)
            at = closing.start() if closing else len(start)
        elif found[2]:
            attributes, at = _attributes(start, at)
            is_closed = _END.match(start, at) is not None
            if found[2].lower() == b"meta" and is_closed and (codec := _codec_of_meta(attributes)):
                return codec
    return None


def _attributes(start: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """Names in lower case with their values, and where the tag ends. Of a repeated attribute the first counts."""
    found: dict[bytes, bytes] = {}
    while attribute := _ATTRIBUTE.match(start, at):
        at = attribute.end()
        found.setdefault(attribute[1].lower(), attribute[2] or attribute[3] or attribute[4] or b"")
    return found, at


def _codec_of_meta(attributes: dict[bytes, bytes]) -> str | None:
    if b"charset" in attributes:
        return _codec(attributes[b"charset"])
    if attributes.get(b"http-equiv", b"").lower() != b"content-type":
        return None
    found = _CHARSET.search(attributes.get(b"content", b""))
    return _codec(found[1] or found[2] or found[3] or b"") if found else None


def _codec(label: bytes) -> str | None:
    return codec_of_label(label.decode("latin-1"))
