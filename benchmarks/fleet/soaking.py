"""Soak: one worker through 200,000 pages of a site that keeps growing, its memory looked at all the while."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contenders import CONCURRENCY
from benchmarks.fleet.ours import fleet
from benchmarks.fleet.session import Session
from benchmarks.growth_site import GrowthSite, serving
from benchmarks.measure import CannotMeasure
from benchmarks.soak import LOOKS, MOST_S, Look, links

POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class FleetSoak:
    pages: int
    looks: list[Look]
    """At the worker with its processes; what they share is counted once."""
    redis_bytes: int
    """At the end."""
    fetched_twice: int

    @property
    def early(self) -> Look:
        """The look at a tenth of the pages."""
        return next(look for look in self.looks if look.pages >= self.pages // 10)


def soak_fleet(pages: int, scratch: Path) -> FleetSoak:
    with serving(links) as site, fleet(scratch) as ours:
        ours.tend()
        worker = ours.worker()
        job = ours.submit(site.front_page, "--max-pages", str(pages), "--per-host", CONCURRENCY)
        looks = list(_looks(site, worker, pages))
        redis_bytes = ours.redis.used_bytes()
        stored = ours.wait(job, "limited")["pages"]
    if stored != pages:
        raise CannotMeasure(f"{stored:,} pages were stored instead of {pages:,}")
    return FleetSoak(pages, looks, redis_bytes, sum(count - 1 for count in site.fetched.values()))


def _looks(site: GrowthSite, worker: Session, pages: int) -> Iterator[Look]:
    """Twenty over the whole crawl, the last when every page was served."""
    began, step = time.monotonic(), pages // LOOKS
    due = step
    while due <= pages:
        if time.monotonic() - began > MOST_S or not worker.running():
            raise CannotMeasure(f"the fleet had only {site.served:,} of {pages:,} pages:\n{worker.output()[-2000:]}")
        if site.served >= due:
            yield Look(site.served, time.monotonic() - began, worker.cpu_s(), worker.memory_bytes())
            due = (site.served // step + 1) * step
        time.sleep(POLL_S)
