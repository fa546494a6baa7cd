"""Reads a page: its metadata, its directives for crawlers, and its links.

Reading never raises, whatever the bytes. Anything beyond a limit is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from shoal.extract.html_tags import FOLLOWED_RELS, FOLLOWED_TYPES
from shoal.extract.parser_choice import Attributes, PageParser, choose_parser
from shoal.extract.robots_directives import AGENT, refresh_target, robots_of_header, robots_of_meta

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_HTML_BYTES = 10_000_000
MAX_LINKS = 100_000
MAX_TITLE = 1_000
MAX_DESCRIPTION = 5_000
MAX_TEXT = 1_000_000
_FOR_BROWSERS = frozenset(
    {"stylesheet", "icon", "shortcut icon", "preload", "modulepreload", "preconnect", "dns-prefetch"}
)
"""The most common relations of a <link>, none of which is followed."""


class PageHead(NamedTuple):
    """What the record of a page has from its head. URLs are as written."""

    title: str | None = None
    base: str | None = None
    canonical: str | None = None
    noindex: bool = False
    nofollow: bool = False


@dataclass(slots=True)
class PageReading:
    """A page, read. URLs are as written, to be resolved against `base` and the page's own.

    It holds the parsed page, for `text`, so keep it no longer than needed.
    """

    noindex: bool
    nofollow: bool
    _source: PageParser = field(repr=False)
    title: str | None = None
    description: str | None = None
    language: str | None = None
    base: str | None = None
    canonical: str | None = None
    refresh: str | None = None
    hrefs: list[str] = field(default_factory=list)
    """Links to follow, with repeats: link relations, links in page order without fragments, frames, meta refresh."""
    nofollowed: int = 0
    """The number of nofollow links, by their own rel or by the page's directives."""
    for_programs: int = 0
    """The number of <link> elements whose type is for programs, such as JSON and oEmbed."""
    beyond: int = 0
    """The number of links beyond `MAX_LINKS`. The rest of a big page is not read to count them all."""

    @property
    def head(self) -> PageHead:
        return PageHead(self.title, self.base, self.canonical, self.noindex, self.nofollow)

    def text(self) -> str:
        """Visible text with collapsed white space."""
        return _fold(self._source.text().decode("utf-8", "replace"), MAX_TEXT)

    def raw_text(self) -> bytes:
        """Visible text as its parser gives it, in UTF-8: to collapse white space may cost as much as parsing, and most
        texts are stored as they are."""
        text = self._source.text()
        return text if len(text) <= MAX_TEXT else text.decode("utf-8", "replace")[:MAX_TEXT].encode()


def read(
    html: bytes, header_robots: str = "", obey: bool = True, agent: str = AGENT, has_text: bool = True
) -> PageReading:
    """`html` is UTF-8; `header_robots` the X-Robots-Tag headers of the answer, one a line.

    Without `obey` what the page asks of crawlers is noted, but every link is given. What it asks of others than
    `agent`, a name in lower case, is not for us. Without `has_text` its text may not be asked for.
    """
    return reading_of(choose_parser(html[:MAX_HTML_BYTES], has_text), header_robots, obey, agent)


def read_head(root: LexborNode, header_robots: str = "", agent: str = AGENT) -> PageReading:
    """Title, metadata and directives of a page that is parsed already: its links and text are not read."""
    # Imported here: its library is needed only where something has parsed the page.
    from shoal.extract.tree_parser import HeadParser

    return reading_of(HeadParser(root), header_robots, False, agent)


def reading_of(source: PageParser, header_robots: str = "", obey: bool = True, agent: str = AGENT) -> PageReading:
    """What `read` takes of a page, however it is parsed."""
    header = robots_of_header(header_robots, agent)
    reading = PageReading(header.noindex, header.nofollow, source)
    reading.title = _fold(source.title() or "", MAX_TITLE) or None
    reading.language = source.language() or None
    for tag, attributes in source.sayings():
        if tag == "link":
            _note_relation(reading, attributes)
        elif tag == "meta":
            _note_meta(reading, attributes, agent)
        else:
            reading.base = reading.base or attributes.get("href")
    _note_links(reading, *source.links(), obey)
    reading.hrefs += source.frames()
    _note_link(reading, reading.refresh)
    if reading.nofollow and obey:
        reading.nofollowed += len(reading.hrefs)
        reading.hrefs = []
    reading.beyond = max(0, len(reading.hrefs) - MAX_LINKS)
    del reading.hrefs[MAX_LINKS:]
    return reading


def _note_links(reading: PageReading, hrefs: list[str], rels: Mapping[int, str], obey: bool) -> None:
    nofollow = {place for place, rel in rels.items() if "nofollow" in rel.lower().split()} if obey else ()
    if nofollow:
        reading.nofollowed += len(nofollow)
        hrefs = [href for place, href in enumerate(hrefs) if place not in nofollow]
    reading.hrefs += hrefs


def _note_link(reading: PageReading, href: str | None) -> None:
    if href:
        reading.hrefs.append(href)


def _note_relation(reading: PageReading, attributes: Attributes) -> None:
    rel = (attributes.get("rel") or "").lower()
    if rel in _FOR_BROWSERS:
        return
    rels = rel.split()
    if "canonical" in rels:
        reading.canonical = reading.canonical or attributes.get("href")
    # An "alternate stylesheet" is a stylesheet.
    if "stylesheet" in rels or FOLLOWED_RELS.isdisjoint(rels):
        return
    if (attributes.get("type") or "").partition(";")[0].strip().lower() not in FOLLOWED_TYPES:
        reading.for_programs += bool(attributes.get("href"))
    elif "nofollow" in rels:
        reading.nofollowed += bool(attributes.get("href"))
    else:
        _note_link(reading, attributes.get("href"))


def _note_meta(reading: PageReading, attributes: Attributes, agent: str) -> None:
    content = attributes.get("content")
    if not content:
        return
    name = (attributes.get("name") or "").strip().lower()
    if name in ("robots", agent):
        asked = robots_of_meta(content)
        reading.noindex |= asked.noindex
        reading.nofollow |= asked.nofollow
    elif name == "description":
        reading.description = reading.description or _fold(content, MAX_DESCRIPTION) or None
    elif (attributes.get("http-equiv") or "").strip().lower() == "refresh":
        reading.refresh = reading.refresh or refresh_target(content)


def _fold(text: str, cap: int) -> str:
    return " ".join(text.split())[:cap]
