"""Reads a page: what it says of itself, what it asks of crawlers, and where it leads.

Reading never raises, whatever the bytes; what lies beyond a cap is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shoal.extract.directives import AGENT, refresh_target, robots_of_header, robots_of_meta
from shoal.extract.source import Attributes, Source, source_of
from shoal.extract.vocabulary import FOLLOWED_RELS

MAX_HTML_BYTES = 10_000_000
MAX_LINKS = 100_000
MAX_TITLE = 1_000
MAX_DESCRIPTION = 5_000
MAX_TEXT = 1_000_000


@dataclass(slots=True)
class Reading:
    """A page, read. URLs are as written, to be resolved against `base` and the page's own.

    It holds the parsed page, for `text`, so keep it no longer than needed.
    """

    noindex: bool
    nofollow: bool
    _source: Source = field(repr=False)
    title: str | None = None
    description: str | None = None
    language: str | None = None
    base: str | None = None
    canonical: str | None = None
    refresh: str | None = None
    hrefs: list[str] = field(default_factory=list)
    """Where the page may be left for, repeats included: by its relations, links in page order, frames, a refresh."""
    nofollowed: int = 0
    """How many links may not: their own rel says so, or the page does."""
    beyond: int = 0
    """How many links are left out because `MAX_LINKS` come before them; a big page is not read to the last of them."""

    def text(self) -> str:
        """Visible text, whitespace folded."""
        return _fold(self._source.text(), MAX_TEXT)

    def raw_text(self) -> str:
        """The same with its whitespace as it stands: folding costs more than all else here but the parse."""
        return self._source.text()[:MAX_TEXT]


def read(html: bytes, header_robots: str = "", obey: bool = True, agent: str = AGENT) -> Reading:
    """`html` is UTF-8; `header_robots` the X-Robots-Tag headers of the answer, one a line.

    Without `obey` what the page asks of crawlers is noted, but every link is given. What it asks of others than
    `agent`, a name in lower case, is not for us.
    """
    source = source_of(html[:MAX_HTML_BYTES])
    header = robots_of_header(header_robots, agent)
    reading = Reading(header.noindex, header.nofollow, source)
    reading.title = _fold(source.title() or "", MAX_TITLE) or None
    reading.language = source.language() or None
    for tag, attributes in source.sayings():
        if tag == "link":
            _note_relation(reading, attributes)
        elif tag == "meta":
            _note_meta(reading, attributes, agent)
        else:
            reading.base = reading.base or attributes.get("href")
    _note_links(reading, source.links(), obey)
    for frame in source.frames():
        _note_link(reading, frame.get("src"))
    _note_link(reading, reading.refresh)
    if reading.nofollow and obey:
        reading.nofollowed += len(reading.hrefs)
        reading.hrefs = []
    reading.beyond = max(0, len(reading.hrefs) - MAX_LINKS)
    del reading.hrefs[MAX_LINKS:]
    return reading


def _note_links(reading: Reading, links: Sequence[Attributes], obey: bool) -> None:
    """There may be hundreds, nearly all of them plain: for such a one there is no call."""
    followed = [link for link in links if "rel" not in link or not _is_nofollow(link)] if obey else links
    reading.nofollowed += len(links) - len(followed)
    reading.hrefs += [href for link in followed if (href := link.get("href"))]


def _is_nofollow(link: Attributes) -> bool:
    return bool(link.get("href")) and "nofollow" in (link["rel"] or "").lower().split()


def _note_link(reading: Reading, href: str | None) -> None:
    if href:
        reading.hrefs.append(href)


def _note_relation(reading: Reading, attributes: Attributes) -> None:
    rels = (attributes.get("rel") or "").lower().split()
    if "canonical" in rels:
        reading.canonical = reading.canonical or attributes.get("href")
    # An "alternate stylesheet" is a stylesheet.
    if "stylesheet" in rels or FOLLOWED_RELS.isdisjoint(rels):
        return
    if "nofollow" in rels:
        reading.nofollowed += bool(attributes.get("href"))
    else:
        _note_link(reading, attributes.get("href"))


def _note_meta(reading: Reading, attributes: Attributes, agent: str) -> None:
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
