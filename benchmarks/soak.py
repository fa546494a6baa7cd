"""Soak: one long crawl of a growing site, with its memory measured throughout.

Soon after the start it is killed with kill -9 and resumed. At the end, the site reports which pages were fetched twice.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contenders import CONCURRENCY, SHOAL_PROGRAM, shoal_crawl
from benchmarks.growth_site import GrowthSite, serving
from benchmarks.links_site import LINKS, MENU, NEIGHBOURS
from benchmarks.measure import LIMIT_S, CannotMeasure, summary_of
from benchmarks.process import Process, running
from shoal.engine.leasing.lease_capacity import BACKLOG_PER_FETCH

PAGES = 200_000
KILLED_AFTER = 0.05
LOOKS = 20
CHILDREN = 5
"""New links per page: there are five times as many known URLs as pages."""
MOST_TWICE = int(CONCURRENCY) * (1 + BACKLOG_PER_FETCH)
MOST_S = 3600.0
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Look:
    pages: int
    wall_s: float
    """Since the start of the resumed crawl."""
    cpu_s: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Soak:
    pages: int
    killed_at: int
    looks: list[Look]
    """Samples of the resumed crawl."""
    fetched_twice: int
    """Pages that were in flight, or not yet stored, at the kill."""

    @property
    def early(self) -> Look:
        """The sample at a tenth of the pages."""
        return next(look for look in self.looks if look.pages >= self.pages // 10)


def soak(pages: int, scratch: Path) -> Soak:
    home = scratch / "home"
    with serving(links) as site:
        crawl = [*SHOAL_PROGRAM, *shoal_crawl(home, site.front_page, "--max-pages", str(pages))]
        with running(crawl, scratch) as process:
            site.wait_until(int(pages * KILLED_AFTER), process.running, LIMIT_S)
            process.kill()
        killed_at = site.served
        resume = [*SHOAL_PROGRAM, "resume", "last", "--concurrency", CONCURRENCY, "--json", "--quiet"]
        with running([*resume, "--home", str(home)], scratch) as process:
            looks = list(_looks(site, process, pages))
            code, output = process.ended()
    stored = summary_of(output).get("pages")
    if code != 0 or stored != pages:
        raise CannotMeasure(
            f"the crawl ended with code {code} and {stored} pages instead of {pages}:\n{output[-2000:]}"
        )
    fetched_twice = sum(count - 1 for count in site.fetched.values())
    if fetched_twice > MOST_TWICE:
        raise CannotMeasure(f"{fetched_twice} pages were fetched twice, more than can have been in flight at the kill")
    return Soak(pages, killed_at, looks, fetched_twice)


def links(number: int) -> list[int]:
    """A menu, neighbours, five new pages, and others that are known by then."""
    first, known = number - number % NEIGHBOURS, CHILDREN * number + 1
    chance = random.Random(number).random
    return [
        *range(1, MENU + 1),
        *range(known, known + CHILDREN),
        *(int(chance() * known) for _ in range(LINKS - MENU - CHILDREN - NEIGHBOURS)),
        *range(first, first + NEIGHBOURS),
    ]


def _looks(site: GrowthSite, process: Process, pages: int) -> Iterator[Look]:
    """Twenty samples over the crawl, the last when every page was served, or just before the process ended."""
    deadline = time.monotonic() + MOST_S
    step = pages // LOOKS
    due = (site.served // step + 1) * step
    latest: Look | None = None
    while process.running():
        if time.monotonic() > deadline:
            raise CannotMeasure(f"the crawl had only {site.served:,} of {pages:,} pages after {MOST_S:.0f} s")
        look = Look(site.served, time.monotonic() - process.started, process.cpu_s(), process.memory_bytes())
        if look.memory_bytes:
            latest = look
        if look.pages >= due and latest is look:
            due = (look.pages // step + 1) * step
            yield look
        time.sleep(POLL_S)
    if latest is not None and due <= pages:
        yield latest
