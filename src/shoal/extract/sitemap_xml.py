"""Reads the entries of XML sitemaps and feeds with expat, piece by piece.

Memory is bounded by the longest token and the deepest nesting, and both are limited. An error in the XML costs the
record that it is in: the reading continues at the next record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple
from urllib.parse import urljoin
from xml.parsers import expat

from shoal.extract.sitemap_to_utf8 import UNDECODABLE

MAX_TOKEN_BYTES = 1_000_000
MAX_VALUE = 64_000
"""Characters; what is longer is cut there, which leaves more than any URL may have."""
MAX_BASE = 500
"""Characters; a longer `xml:base` does not count, because each URL in its element is joined to it."""
MAX_DEPTH = 100
MAX_ERRORS = 1_000
"""The reading stops at the next one: each needs a new parser."""

_ROOTS = frozenset({"urlset", "sitemapindex", "rss", "RDF", "feed"})
# A record's element, and its child that holds the URL. Children only: <image:loc> lies deeper, in <image:image>.
_URL_FIELDS = {"url": "loc", "sitemap": "loc", "item": "link", "entry": "link"}
_RECORD_START = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:url|sitemap|item|entry)[\s>]")
_TAIL_BYTES = 64
"""The beginning of a record that the next piece may complete."""
_PERMALINK = "guid"
"""In RSS: the id of an item, which is its URL unless it says otherwise. Some items have no other."""
_DATE_FIELDS = frozenset({"lastmod", "pubDate", "updated", "date"})


class SitemapEntry(NamedTuple):
    url: str
    """As written, but for surrounding whitespace, and cut if it is far longer than a URL may be."""
    kind: Literal["url", "sitemap"]
    lastmod: str | None


class SitemapFault(Exception):
    """Why the reading of a sitemap stopped; `Sitemap.fault` carries it to the caller."""


class XmlReader:
    """Of UTF-8, whatever the document declares."""

    def __init__(self) -> None:
        self.error = ""
        """The first error in the XML, if there was one."""
        self._errors = 0
        self._skipped: bytes | None = None
        """The last bytes of a part without a record, while the next record is looked for."""
        self._found: list[SitemapEntry] = []
        self._lost_base = ""
        """The base at an error in the XML, behind which the open elements are opened again without it."""
        self._outer: list[tuple[str, str]] = []
        """The open elements outside of records, each with the base of what is in it."""
        self._start_parser()

    def _start_parser(self) -> None:
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._refuse_entity
        self._fed_bytes = 0
        self._depth = 0
        self._record = ""
        self._record_name = ""
        self._record_depth = 0
        self._field = ""
        self._value: list[str] = []
        self._room = MAX_VALUE
        self._url = ""
        self._permalink = ""
        self._record_base = ""
        self._lastmod: str | None = None

    def feed(self, piece: bytes, last: bool = False) -> Iterator[SitemapEntry]:
        """The entries that end in this piece, up to its fault if it has one. Raises SitemapFault."""
        rest: bytes | None = piece
        while rest is not None:
            if self._skipped is not None:
                rest = self._from_next_record(self._skipped + rest)
                if rest is None:
                    return
            fault, rest = self._parse(rest, last)
            found, self._found = self._found, []
            yield from found
            if fault:
                raise fault

    def _parse(self, piece: bytes, last: bool) -> tuple[SitemapFault | None, bytes | None]:
        """What ends the reading, and what is left to read after an error in the XML."""
        try:
            self._parser.Parse(piece, last)
        except SitemapFault as fault:
            return fault, None
        except expat.ExpatError as error:
            return self._note_error(error, piece, last)
        self._fed_bytes += len(piece)
        # What expat has been fed beyond its last event is one unfinished token.
        if self._fed_bytes - self._parser.CurrentByteIndex > MAX_TOKEN_BYTES:
            return SitemapFault(f"a tag or comment of more than {MAX_TOKEN_BYTES:,} bytes"), None
        return None, None

    def _note_error(
        self, error: expat.ExpatError, piece: bytes, last: bool
    ) -> tuple[SitemapFault | None, bytes | None]:
        self.error = self.error or f"not well-formed XML: {error}"
        self._errors += 1
        # Without an open element, the document has not begun, or has ended.
        if self._errors > MAX_ERRORS or not self._outer or last:
            return SitemapFault(self.error), None
        # Behind the error's first byte, so that every error brings the reading forward.
        self._skipped = b""
        return None, piece[max(0, self._parser.ErrorByteIndex - self._fed_bytes) + 1 :]

    def _from_next_record(self, part: bytes) -> bytes | None:
        """What is left from the next record on, in the elements that were open. None: this part has no record."""
        start = _RECORD_START.search(part)
        if start is None:
            self._skipped = part[-_TAIL_BYTES:]
            return None
        self._skipped = None
        opening = "".join(f"<{name}>" for name, _ in self._outer).encode()
        self._lost_base = self._base
        self._outer.clear()
        self._start_parser()
        return opening + part[start.start() :]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SitemapFault(f"elements nested more than {MAX_DEPTH} deep")
        if self._record and self._depth == self._record_depth + 1:
            if name != self._record_name:
                self._open_field(name.rpartition(":")[2], attributes)
                return
            # Its end tag is missing.
            self._close_record()
            self._outer.append((name, self._base))
        if not self._record:
            self._open(name, attributes.get("xml:base", ""))

    def _open(self, name: str, base: str) -> None:
        local = name.rpartition(":")[2]
        if self._depth == 1 and local not in _ROOTS:
            raise SitemapFault(f"the root element is <{name[:100]}>, not that of a sitemap or feed")
        if local in _URL_FIELDS and self._depth > 1:
            self._record, self._record_name, self._record_depth = local, name, self._depth
            self._record_base = _inner_base(self._base, base)
        else:
            self._outer.append((name, _inner_base(self._base, base)))

    @property
    def _base(self) -> str:
        return self._outer[-1][1] if self._outer else self._lost_base

    def _open_field(self, local: str, attributes: dict[str, str]) -> None:
        if local == _URL_FIELDS[self._record]:
            # Atom puts the URL into an attribute, and other relations of the entry beside it.
            if attributes.get("rel", "alternate") == "alternate":
                self._url = self._url or attributes.get("href", "").strip()
                self._field = local
        elif local in _DATE_FIELDS or (
            local == _PERMALINK and attributes.get("isPermaLink", "true").strip().lower() == "true"
        ):
            self._field = local
        if self._field:
            # Set only here: most character data lies between elements and is whitespace.
            self._parser.CharacterDataHandler = self._add

    def _add(self, data: str) -> None:
        if self._room > 0:
            self._value.append(data[: self._room])
            self._room -= len(data)

    def _end(self, name: str) -> None:
        if not self._record:
            self._outer.pop()
        elif self._depth == self._record_depth:
            self._close_record()
        elif self._field and self._depth == self._record_depth + 1:
            self._close_field()
        self._depth -= 1

    def _close_field(self) -> None:
        self._parser.CharacterDataHandler = None
        value = "".join(self._value).strip()
        if self._field in _DATE_FIELDS:
            self._lastmod = self._lastmod or value or None
        elif self._field == _PERMALINK:
            self._permalink = value if value.startswith(("http://", "https://")) else ""
        else:
            self._url = self._url or value
        self._value.clear()
        self._room, self._field = MAX_VALUE, ""

    def _close_record(self) -> None:
        url = self._url or self._permalink
        if UNDECODABLE in url:
            self.error = self.error or "a URL with bytes that are not in the document's encoding"
        elif url:
            kind: Literal["url", "sitemap"] = "sitemap" if self._record == "sitemap" else "url"
            self._found.append(SitemapEntry(_joined(self._record_base, url), kind, self._lastmod))
        self._record, self._record_name, self._record_depth = "", "", 0
        self._url, self._permalink, self._lastmod = "", "", None

    def _refuse_entity(self, name: str, *declaration: object) -> None:
        raise SitemapFault(f"it declares the entity {name[:100]!r}; entities are not read")


def _inner_base(outer: str, base: str) -> str:
    joined = _joined(outer, base)
    return joined if len(joined) <= MAX_BASE else outer


def _joined(base: str, url: str) -> str:
    """`base` may be relative itself."""
    if not base or not url:
        return base or url
    try:
        return urljoin(base, url)
    except ValueError:
        return url
