"""Entries out of the XML forms of a sitemap, piece by piece, by expat.

Memory is bounded by the longest token and the deepest nesting, and both have caps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple
from xml.parsers import expat

MAX_TOKEN_BYTES = 1_000_000
MAX_VALUE = 64_000
"""Characters; what is longer is cut there, which leaves more than any URL may have."""
MAX_DEPTH = 100

_ROOTS = frozenset({"urlset", "sitemapindex", "rss", "RDF", "feed"})
# A record's element, and its child that holds the URL. Children only: <image:loc> lies deeper, in <image:image>.
_URL_FIELDS = {"url": "loc", "sitemap": "loc", "item": "link", "entry": "link"}
_DATE_FIELDS = frozenset({"lastmod", "pubDate", "updated", "date"})


class Entry(NamedTuple):
    url: str
    """As written, but for surrounding whitespace, and cut if it is far longer than a URL may be."""
    kind: Literal["url", "sitemap"]
    lastmod: str | None


class Fault(Exception):
    """Why the reading of a sitemap stopped; `Sitemap.fault` carries it to the caller."""


class XmlReader:
    def __init__(self) -> None:
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._refuse_entity
        self._fed_bytes = 0
        self._found: list[Entry] = []
        self._depth = 0
        self._record = ""
        self._record_depth = 0
        self._field = ""
        self._value: list[str] = []
        self._room = MAX_VALUE
        self._url = ""
        self._lastmod: str | None = None

    def feed(self, piece: bytes, last: bool = False) -> Iterator[Entry]:
        """The entries that end in this piece, up to its fault if it has one."""
        fault = self._parse(piece, last)
        found, self._found = self._found, []
        yield from found
        if fault:
            raise fault

    def _parse(self, piece: bytes, last: bool) -> Fault | None:
        try:
            self._parser.Parse(piece, last)
        except Fault as fault:
            return fault
        except expat.ExpatError as error:
            return Fault(f"not well-formed XML: {error}")
        except (LookupError, ValueError) as error:
            return Fault(f"an encoding that cannot be read: {error}")
        self._fed_bytes += len(piece)
        # What expat has been fed beyond its last event is one unfinished token.
        if self._fed_bytes - self._parser.CurrentByteIndex > MAX_TOKEN_BYTES:
            return Fault(f"a tag or comment of more than {MAX_TOKEN_BYTES:,} bytes")
        return None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Fault(f"elements nested more than {MAX_DEPTH} deep")
        local = name.rpartition(":")[2]
        if not self._record:
            if self._depth == 1 and local not in _ROOTS:
                raise Fault(f"the root element is <{name[:100]}>, not that of a sitemap or feed")
            if local in _URL_FIELDS:
                self._record, self._record_depth = local, self._depth
        elif self._depth == self._record_depth + 1:
            self._open_field(local, attributes)

    def _open_field(self, local: str, attributes: dict[str, str]) -> None:
        if local == _URL_FIELDS[self._record]:
            # Atom puts the URL into an attribute, and other relations of the entry beside it.
            if attributes.get("rel", "alternate") == "alternate":
                self._url = self._url or attributes.get("href", "").strip()
                self._field = local
        elif local in _DATE_FIELDS:
            self._field = local
        if self._field:
            # Set only here: most character data lies between elements and is whitespace.
            self._parser.CharacterDataHandler = self._add

    def _add(self, data: str) -> None:
        if self._room > 0:
            self._value.append(data[: self._room])
            self._room -= len(data)

    def _end(self, name: str) -> None:
        if self._depth == self._record_depth:
            self._close_record()
        elif self._field and self._depth == self._record_depth + 1:
            self._close_field()
        self._depth -= 1

    def _close_field(self) -> None:
        self._parser.CharacterDataHandler = None
        value = "".join(self._value).strip()
        if self._field in _DATE_FIELDS:
            self._lastmod = self._lastmod or value or None
        else:
            self._url = self._url or value
        self._value.clear()
        self._room, self._field = MAX_VALUE, ""

    def _close_record(self) -> None:
        if self._url:
            kind: Literal["url", "sitemap"] = "sitemap" if self._record == "sitemap" else "url"
            self._found.append(Entry(self._url, kind, self._lastmod))
        self._record, self._record_depth = "", 0
        self._url, self._lastmod = "", None

    def _refuse_entity(self, name: str, *declaration: object) -> None:
        raise Fault(f"it declares the entity {name[:100]!r}; entities are not read")
