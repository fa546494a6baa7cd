"""The parts of the comparison: a site, its hosts, and what a crawl of it must find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import items_site, links_site
from benchmarks.manual_site import Manual
from benchmarks.site import Href

TLS_HOSTS = 500
PACED_HOSTS = 200


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    build: Callable[[Path, int, Href], None]
    """Writes so many pages of the site into a directory."""
    pages: int
    """The default number of pages."""
    items_per_page: int
    holds: str
    """Describes the site's pages; follows their number in the report."""
    task: str
    keeps: str
    """How each crawler stores its results: the contenders differ in this."""
    hosts: tuple[str, ...] = ("127.0.0.1",)
    tls: bool = False

    def expected(self, pages: int) -> dict[str, int]:
        """The fields that the summary of a complete crawl must contain."""
        items = {"items": pages * self.items_per_page} if self.items_per_page else {}
        return {"pages": pages, **items}


_KEPT = "Shoal keeps its frontier, text and links in SQLite on disk; the peers keep everything in memory"
_LINKS = Part(
    "links",
    links_site.build,
    pages=5000,
    items_per_page=0,
    holds=f"with {links_site.LINKS} links each",
    task="every page by following all links",
    keeps=f"{_KEPT}, and of a page its URL, title and status. So does Shoal with --no-text, on disk (records only). "
    "On disk: the peers keep what Shoal does, text and links of a page in a file, Scrapy's queue in its JOBDIR and "
    "Crawlee's in the storage it comes with.",
)
_TLS = replace(
    _LINKS,
    name="tls",
    holds=f"over TLS, in turn on {TLS_HOSTS} hosts, with {links_site.LINKS} links each across them",
    keeps=f"{_KEPT}. All verify the certificate against an authority of the benchmark's own. Shoal and Crawlee "
    "agree with the server on HTTP/2, Scrapy on HTTP/1.1; these are what they come with.",
    hosts=tuple(f"127.1.{number // 250}.{number % 250 + 1}" for number in range(TLS_HOSTS)),
    tls=True,
)
_ITEMS = Part(
    "items",
    items_site.build,
    pages=5000,
    items_per_page=items_site.PRODUCTS,
    holds=f"with {items_site.PRODUCTS} records of {items_site.FIELDS} fields each",
    task="every page by its pager, every record with a price, a count, a date and two URLs converted",
    keeps="Shoal keeps its frontier and the items in SQLite on disk, and measures their quality; Scrapy writes the "
    "items to a file, as JSON lines, or counts and drops them.",
)
_ARCHIVE = replace(
    _LINKS,
    name="archive",
    keeps="Shoal keeps its frontier, text and links in SQLite on disk, and unless it says otherwise every answer as "
    "WARC; Scrapy keeps everything in memory.",
)
_SMALL_PAGES = replace(
    _LINKS,
    name="small-pages",
    build=Manual("postgresql-doc", "postgresql-doc*/html").build,
    pages=1150,
    holds="of PostgreSQL's manual, as Debian has it: median 7 KB",
    keeps="Shoal keeps its frontier, text and links in SQLite on disk. Scrapy on disk keeps the same: text and links "
    "in a file, its queue in its JOBDIR; so does Crawlee in its own storage. The loop by hand keeps everything in "
    "memory. wget writes the pages to files.",
)
_LARGE_PAGES = replace(
    _SMALL_PAGES,
    name="large-pages",
    build=Manual("python3-doc", "python3.*-doc/html").build,
    pages=500,
    holds="of Python's manual, as Debian has it: 96 KB on average, up to 2.5 MB",
)
_OCTAVE = replace(
    _SMALL_PAGES,
    name="octave-manual",
    build=Manual("octave-doc", "octave/octave.html").build,
    pages=500,
    holds="of Octave's manual, as Debian has it: median 7 KB, up to 0.9 MB",
)
_SQLALCHEMY = replace(
    _SMALL_PAGES,
    name="sqlalchemy-manual",
    build=Manual("python-sqlalchemy-doc", "python-sqlalchemy-doc/html").build,
    pages=215,
    holds="of SQLAlchemy's manual, as Debian has it: 138 KB on average, up to 1.3 MB",
)
_TRICKLE = replace(
    _SMALL_PAGES,
    name="trickle",
    pages=400,
    task="every page by following all links, at 20 requests a second",
)
_HOSTS = replace(
    _LINKS,
    name="hosts",
    pages=2_000,
    holds=f"in turn on {PACED_HOSTS} hosts, with {links_site.LINKS} links each across them",
    task="every page by following all links, at Shoal's default of 2 requests a second and host",
    keeps="Shoal and Scrapy, on disk, keep text and links of a page and their queue on disk.",
    hosts=tuple(f"127.2.0.{number + 1}" for number in range(PACED_HOSTS)),
)
MADE_SITES = {part.name: part for part in (_LINKS, _TLS, _ITEMS, _ARCHIVE, _HOSTS)}
MANUALS = {part.name: part for part in (_SMALL_PAGES, _LARGE_PAGES, _OCTAVE, _SQLALCHEMY, _TRICKLE)}
"""Sites that nobody here wrote."""
PARTS = MADE_SITES | MANUALS
