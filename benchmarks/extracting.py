"""Extraction: runs a spider over the archive of a crawl, in one process, to get the figure for one core."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from benchmarks import items_site
from benchmarks.contenders import HERE, SHOAL_PROGRAM, WORK, fresh, shoal_crawl
from benchmarks.measure import Run, measure
from benchmarks.servers import Place, free_port, nginx

PAGES = 5_000
SMALL_RULES = HERE / "extract_rules.yaml"
SPIDER = HERE / "items_spider.py"


@dataclass(frozen=True, slots=True)
class Extracted:
    pages: int
    of_three: list[Run]
    """Three fields per page, by rules."""
    of_records: list[Run]
    """Ten fields of twenty records per page, by a spider."""


def extract(pages: int, rounds: int) -> Extracted:
    site, place = WORK / "extract", Place(("127.0.0.1",), free_port(), tls=False)
    items_site.build(site, pages, place.href)
    with fresh() as scratch:
        home = scratch / "home"
        with nginx(place, site, scratch) as extra:
            crawl = [*SHOAL_PROGRAM, *shoal_crawl(home, str(SPIDER), place.url(0))]
            measure(crawl, {"pages": pages}, scratch, extra)
        again = [*SHOAL_PROGRAM, "extract", "last", "--processes", "1", "--json", "--quiet", "--home", str(home)]
        by_rules = {"pages": pages, "items": pages}
        by_spider = {"pages": pages, "items": pages * items_site.PRODUCTS}
        of_three, of_records = [], []
        for _ in range(rounds):
            of_three.append(_printed(measure([*again, "--rules", str(SMALL_RULES)], by_rules, scratch, {})))
            of_records.append(_printed(measure([*again, "--spider", str(SPIDER)], by_spider, scratch, {})))
    return Extracted(pages, of_three, of_records)


def _printed(run: Run) -> Run:
    print(f"extract: {1000 / run.cpu_ms_per_page:,.0f} pages per second of CPU", file=sys.stderr)
    return run
