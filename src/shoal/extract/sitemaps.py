"""Sitemaps as a stream: urlset, index, RSS, Atom and plain lists of URLs, gzipped or not, in bounded memory.

Namespaces are ignored. No DTD is loaded and no entity is read, so no file can grow by being read. What is often wrong
with XML is mended; any other fault ends the reading after the entries before it have been given.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

from shoal.extract.sitemap_mending import mended
from shoal.extract.sitemap_xml import Entry, Fault, XmlReader

MAX_ENTRIES = 1_000_000
"""Twenty times what the protocol allows in one file."""
MAX_BYTES = 200_000_000
"""After decompression; the protocol allows 50 MB."""
MAX_LINE_BYTES = 64_000

_PIECE_BYTES = 64 * 1024
_SNIFFED_BYTES = 4_096
_GZIP_MAGIC = b"\x1f\x8b"
_UTF_16_STARTS = (b"\xfe\xff", b"\xff\xfe", b"\0<", b"<\0")
_BLANK = b"\xef\xbb\xbf \t\r\n"
_LISTED_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_ROOT = re.compile(
    rb"(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*+>)*+<(?:[\w.-]++:)?+(?:urlset|sitemapindex|rss|RDF|feed)[\s>]",
    re.DOTALL,
)


class Sitemap:
    """Iterate once for the entries; `fault` then says why the reading stopped before the end, if it did."""

    def __init__(self, body: bytes | Iterable[bytes]) -> None:
        self._body = body
        self.fault: str | None = None

    def __iter__(self) -> Iterator[Entry]:
        pieces = _capped(_inflated(_pieces(self._body)))
        try:
            for given, entry in enumerate(_entries(pieces)):
                if given == MAX_ENTRIES:
                    raise Fault(f"more than {MAX_ENTRIES:,} entries")
                yield entry
        except Fault as fault:
            self.fault = str(fault)


def looks_like_sitemap(content_type: str, body: bytes) -> bool:
    """Whether a page is worth reading as a sitemap. A list of URLs must be served as plain text, or gzipped."""
    try:
        head = next(_inflated(_pieces(body[:_SNIFFED_BYTES])), b"")[:_SNIFFED_BYTES].lstrip(_BLANK)
    except Fault:
        return False
    if head.startswith(b"<"):
        return _ROOT.match(head) is not None
    if not (content_type.lower().startswith("text/plain") or body.startswith(_GZIP_MAGIC)):
        return False
    words = head.decode("utf-8", "replace").split()
    # The last may have been cut off.
    return bool(words) and all(map(_LISTED_URL.fullmatch, words[:-1] or words))


def _entries(pieces: Iterator[bytes]) -> Iterator[Entry]:
    head = _first(pieces, blank=_BLANK)
    pieces = chain((head,), pieces)
    if head.startswith(_UTF_16_STARTS):
        return _from_xml(pieces)
    return _from_xml(mended(pieces)) if head.startswith(b"<") else _from_list(pieces)


def _from_xml(pieces: Iterator[bytes]) -> Iterator[Entry]:
    reader = XmlReader()
    for piece in pieces:
        yield from reader.feed(piece)
    yield from reader.feed(b"", last=True)


def _from_list(pieces: Iterator[bytes]) -> Iterator[Entry]:
    known_as_list = False
    for line in _lines(pieces):
        text = line.decode("utf-8", "replace").strip()
        if _LISTED_URL.fullmatch(text):
            known_as_list = True
            yield Entry(text, "url", None)
        elif text and not known_as_list:
            break
    if not known_as_list:
        raise Fault("neither XML nor a list of URLs")


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *lines, rest = re.split(rb"[\r\n]", rest + piece)
        yield from lines
        if len(rest) > MAX_LINE_BYTES:
            raise Fault(f"a line of more than {MAX_LINE_BYTES:,} bytes")
    yield rest


def _pieces(body: bytes | Iterable[bytes]) -> Iterator[bytes]:
    for chunk in (body,) if isinstance(body, bytes) else body:
        for start in range(0, len(chunk), _PIECE_BYTES):
            yield chunk[start : start + _PIECE_BYTES]


def _first(pieces: Iterator[bytes], blank: bytes = b"") -> bytes:
    """The first two bytes at least, if there are as many, after any blank ones."""
    head = b""
    for piece in pieces:
        head = (head + piece).lstrip(blank) if blank else head + piece
        if len(head) >= 2:
            break
    return head


def _inflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    head = _first(pieces)
    pieces = chain((head,), pieces)
    return _gunzipped(pieces) if head.startswith(_GZIP_MAGIC) else pieces


def _gunzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Members one after the other; what follows the last is padding."""
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    for piece in pieces:
        while piece:
            if member.eof:
                if not piece.startswith(_GZIP_MAGIC[:1]):
                    return
                member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                yield member.decompress(piece, _PIECE_BYTES)
            except zlib.error as error:
                raise Fault(f"not a gzip file: {error}") from error
            piece = member.unused_data or member.unconsumed_tail
    if not member.eof:
        raise Fault("the gzip file ends too early")


def _capped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    room = MAX_BYTES
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            raise Fault(f"more than {MAX_BYTES:,} bytes")
        yield piece
