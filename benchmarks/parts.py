"""The parts of the benchmark: a site, and what a crawl of it has to bring home."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import items_site, links_site


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    build: Callable[[Path, int], None]
    """Writes the site: into which directory, how many pages."""
    pages: int
    """Unless another number is asked for."""
    items_per_page: int
    holds: str
    """What a page of the site holds."""
    task: str
    keeps: str
    """What each crawler does with what it finds: in this the contenders are not alike."""

    def expected(self, pages: int) -> dict[str, int]:
        """What the summary of a crawl of the whole site says, among other things."""
        items = {"items": pages * self.items_per_page} if self.items_per_page else {}
        return {"pages": pages, **items}


_LINKS = Part(
    "links",
    links_site.build,
    pages=5000,
    items_per_page=0,
    holds=f"{links_site.LINKS} links",
    task="every page by following all links",
    keeps="Shoal keeps its frontier, text and links in SQLite on disk; the peers keep everything in memory.",
)
_ITEMS = Part(
    "items",
    items_site.build,
    pages=2000,
    items_per_page=items_site.PRODUCTS,
    holds=f"{items_site.PRODUCTS} records of {items_site.FIELDS} fields",
    task="every page by its pager, every record with a price, a count, a date and two URLs converted",
    keeps="Shoal keeps its frontier and the items in SQLite on disk; Scrapy counts the items and drops them.",
)
PARTS = {part.name: part for part in (_LINKS, _ITEMS)}
