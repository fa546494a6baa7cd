"""XML as sites write it, made such that expat reads on: faults that are common, and fatal to it, are written properly.

A bare `&` becomes `&amp;`, HTML's names (`&nbsp;`) become numbers, and characters that no XML may hold go; CDATA
sections stay as they are. It takes linear time, and at most five times as much comes out as went in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.entities import html5

_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\r"))
_OPENING, _CLOSING = b"<![CDATA[", b"]]>"
_BARE = re.compile(rb"&(?!#?[0-9A-Za-z]{1,32};)")
_NAMED = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)(#?)([0-9A-Za-z]{1,32});")
_MAX_PROLOG_BYTES = 256 * 1024
_MISC = rb"(?:\s++|\xef\xbb\xbf|<\?.*?\?>|<!--.*?-->)*+"
_QUOTED = rb"""\"[^\"]*+\"|'[^']*+'|<!--.*?-->|<\?.*?\?>"""
_DOCTYPE = (
    rb"<!(?i:DOCTYPE)(?:[^\[>\"'<]|" + _QUOTED + rb")*+(?:\[(?:[^\]\"'<]|" + _QUOTED + rb"|<(?!!--|\?))*+\]\s*+)?+>"
)
PROLOG = _MISC + rb"(?:" + _DOCTYPE + _MISC + rb")?+"
"""A pattern of what may precede the root element."""
_WHOLE_PROLOG = re.compile(PROLOG + rb"(?=<[^!?])", re.DOTALL)
ROOTS = rb"urlset|sitemapindex|rss|RDF|feed"
_ROOT = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:" + ROOTS + rb")[\s>]")
_PAGE = re.compile(rb"<html[\s>]", re.IGNORECASE)
# What may go on in the next piece.
_TAIL = re.compile(rb"(?:&#?[0-9A-Za-z]{0,32}|<[!\[A-Z]{0,7}|\]\]?)\Z")
_TAIL_BYTES = 34


def from_root(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Removes what precedes the root element: the DOCTYPE, which may declare entities, and what does not belong there,
    such as a server's warning or a second declaration. References to entities stay as text."""
    head = b""
    for piece in pieces:
        head += piece
        if _WHOLE_PROLOG.match(head) or len(head) > _MAX_PROLOG_BYTES:
            break
    yield head[_root_start(head) :]
    yield from pieces


def _root_start(head: bytes) -> int:
    prolog = _WHOLE_PROLOG.match(head)
    start = prolog.end() if prolog else 0
    root = None if _PAGE.match(head, start) else _ROOT.search(head, start)
    return root.start() if root else start


def repaired_xml(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Of a text in an encoding that contains ASCII."""
    held, verbatim = b"", False
    for piece in pieces:
        text = held + piece.translate(None, _CONTROLS)
        tail = _TAIL.search(text, max(0, len(text) - _TAIL_BYTES))
        held = tail.group() if tail else b""
        whole, verbatim = _mended(text[: len(text) - len(held)], verbatim)
        yield whole
    yield _mended(held, verbatim)[0]


def _mended(text: bytes, verbatim: bool) -> tuple[bytes, bool]:
    """And whether it ends within a CDATA section, given whether it begins in one."""
    out, start = [], 0
    while True:
        mark = _CLOSING if verbatim else _OPENING
        end = text.find(mark, start)
        part = text[start : end + len(mark)] if end >= 0 else text[start:]
        out.append(part if verbatim or b"&" not in part else _NAMED.sub(_as_number, _BARE.sub(b"&amp;", part)))
        if end < 0:
            return b"".join(out), verbatim
        start, verbatim = end + len(mark), not verbatim


def _as_number(reference: re.Match[bytes]) -> bytes:
    sign, name = reference.group(1), reference.group(2).decode()
    if sign:
        return _reference(name)
    characters = html5.get(f"{name};")
    if characters is None:
        return b"&amp;" + reference.group()[1:]
    return b"".join(b"&#%d;" % ord(character) for character in characters)


def _reference(number: str) -> bytes:
    """Nothing, if it is that of no character that XML knows."""
    try:
        code = int(number[1:], 16) if number.startswith("x") else int(number)
    except ValueError:
        return b""
    known = code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
    return b"&#%d;" % code if known else b""
