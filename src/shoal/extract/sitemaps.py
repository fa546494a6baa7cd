"""Sitemaps and feeds as a stream: urlset, index, RSS, Atom, JSON Feed and plain lists of URLs, gzipped or not.

Memory is bounded. Namespaces are ignored. No DTD is loaded and no entity is expanded, so no file can grow while it is
read. Common faults of XML are repaired; another fault costs the entry that it is in. Limits end the reading, after the
entries before them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal

from shoal.extract.json_feed import is_json_feed, json_feed_entries
from shoal.extract.sitemap_to_utf8 import UNDECODABLE, UnknownEncoding, sitemap_to_utf8
from shoal.extract.sitemap_xml import SitemapEntry, SitemapFault, XmlReader
from shoal.extract.sitemap_xml_repair import PROLOG, ROOTS, from_root, repaired_xml

MAX_ENTRIES = 1_000_000
"""Twenty times what the protocol allows in one file."""
MAX_BYTES = 200_000_000
"""After decompression; the protocol allows 50 MB."""
MAX_LINE_BYTES = 64_000

_PIECE_BYTES = 64 * 1024
_SNIFFED_BYTES = 64 * 1024
_LIST_SNIFFED_BYTES = 4_096
_GZIP_MAGIC = b"\x1f\x8b"
_BLANK = b"\xef\xbb\xbf \t\r\n"
_STARTS = (b"<", b"{", b"\xff\xfe", b"\xfe\xff", b"\0<")
_LISTED_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_COMMENT = re.compile(r"(?:\A|\s)#.*", re.DOTALL)
_ROOT = re.compile(
    PROLOG + rb"<(?:!(?i:DOCTYPE)\s++)?+(?:[\w.-]++:)?+(" + ROOTS + rb")[\s>\[]",
    re.DOTALL,
)
"""The root element, or a DOCTYPE that names it and goes on beyond what is looked at."""

SitemapKind = Literal["sitemap", "feed", "list"]


class Sitemap:
    """Iterate once for the entries; `fault` then says what was wrong, if something was. The entries that are given
    can be used all the same."""

    def __init__(self, body: bytes | Iterable[bytes]) -> None:
        self._body = body
        self.fault: str | None = None

    def __iter__(self) -> Iterator[SitemapEntry]:
        try:
            for given, entry in enumerate(self._entries()):
                if given == MAX_ENTRIES:
                    raise SitemapFault(f"more than {MAX_ENTRIES:,} entries")
                yield entry
        except (SitemapFault, UnknownEncoding) as fault:
            self.fault = str(fault)

    def _entries(self) -> Iterator[SitemapEntry]:
        pieces = sitemap_to_utf8(_capped(_inflated(_pieces(self._body))))
        head = _first(pieces, blank=_BLANK)
        pieces = chain((head,), pieces)
        if head.startswith(b"<"):
            return self._from_xml(repaired_xml(from_root(pieces)))
        return json_feed_entries(pieces) if head.startswith(b"{") else _from_list(pieces)

    def _from_xml(self, pieces: Iterator[bytes]) -> Iterator[SitemapEntry]:
        reader = XmlReader()
        for piece in pieces:
            yield from reader.feed(piece)
        yield from reader.feed(b"", last=True)
        self.fault = reader.error or None


def sitemap_kind(content_type: str, body: bytes) -> SitemapKind | None:
    """What a document is by its content. A list of URLs must be served as plain text, or gzipped."""
    may_be_list = content_type.lower().startswith("text/plain") or body.startswith(_GZIP_MAGIC)
    if not may_be_list and not body[:_LIST_SNIFFED_BYTES].lstrip(_BLANK).startswith(_STARTS):
        return None
    try:
        inflated = next(_inflated(_pieces(body[:_SNIFFED_BYTES])), b"")[:_SNIFFED_BYTES]
        head = b"".join(sitemap_to_utf8(iter((inflated,)))).lstrip(_BLANK)
    except (SitemapFault, UnknownEncoding):
        return None
    if head.startswith(b"<"):
        root = _ROOT.match(head)
        return None if root is None else "sitemap" if root[1] in (b"urlset", b"sitemapindex") else "feed"
    if head.startswith(b"{"):
        return "feed" if is_json_feed(head) else None
    lines = head[:_LIST_SNIFFED_BYTES]
    is_cut = len(head) > _LIST_SNIFFED_BYTES
    return "list" if may_be_list and _is_list(lines.decode("utf-8", "replace"), is_cut) else None


def _is_list(text: str, is_cut: bool) -> bool:
    """Whether all lines are URLs or comments, but for the last, which may be cut off."""
    lines = text.splitlines()
    if is_cut and len(lines) > 1:
        lines.pop()
    urls = [url for line in lines if (url := _COMMENT.sub("", line).strip())]
    return bool(urls) and all(map(_LISTED_URL.fullmatch, urls))


def _from_list(pieces: Iterator[bytes]) -> Iterator[SitemapEntry]:
    known_as_list = False
    for line in _lines(pieces):
        text = _COMMENT.sub("", line.decode("utf-8", "replace")).strip()
        if _LISTED_URL.fullmatch(text):
            known_as_list = True
            if UNDECODABLE not in text:
                yield SitemapEntry(text, "url", None)
        elif text and not known_as_list:
            break
    if not known_as_list:
        raise SitemapFault("neither XML nor a list of URLs")


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *lines, rest = re.split(rb"[\r\n]", rest + piece)
        yield from lines
        if len(rest) > MAX_LINE_BYTES:
            raise SitemapFault(f"a line of more than {MAX_LINE_BYTES:,} bytes")
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
                raise SitemapFault(f"not a gzip file: {error}") from error
            piece = member.unused_data or member.unconsumed_tail
    if not member.eof:
        raise SitemapFault("the gzip file ends too early")


def _capped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    room = MAX_BYTES
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            raise SitemapFault(f"more than {MAX_BYTES:,} bytes")
        yield piece
