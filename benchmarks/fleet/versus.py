"""The fleet beside scrapy-redis and a Celery task per URL: the same site, in turns, each with a Redis of its own.

Workers live long, so nobody's start-up is counted: a program is started, and its time taken from the moment it is
handed the front page to the last page. Redis's own time is told apart.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import links_site
from benchmarks.contenders import CONCURRENCY, WORK, fresh
from benchmarks.fleet.ours import fleet, lasted_s
from benchmarks.fleet.rivals import Rival
from benchmarks.fleet.session import session
from benchmarks.frontier_redis import redis_server
from benchmarks.measure import CannotMeasure, Run, summary_of
from benchmarks.parts import MANUALS
from benchmarks.servers import Place, free_port, nginx
from benchmarks.site import Href, address

OURS = "Shoal"
LINKED = f"with {links_site.LINKS} links each"


@dataclass(frozen=True, slots=True)
class FleetSite:
    """What a fleet and its rivals crawl."""

    name: str
    build: Callable[[Path, int, Href], None]
    pages: int
    holds: str


_POSTGRESQL = MANUALS["small-pages"]
MADE = FleetSite("fleet", links_site.build, 5_000, LINKED)
REAL = FleetSite("fleet-pages", _POSTGRESQL.build, _POSTGRESQL.pages, _POSTGRESQL.holds)


@dataclass(frozen=True, slots=True)
class FleetRun(Run):
    """CPU is that of the workers."""

    redis_cpu_s: float
    tend_cpu_s: float

    @property
    def redis_ms_per_page(self) -> float:
        return 1000 * self.redis_cpu_s / self.pages

    @property
    def tend_ms_per_page(self) -> float:
        return 1000 * self.tend_cpu_s / self.pages


@dataclass(frozen=True, slots=True)
class Versus:
    pages: int
    versions: dict[str, str]
    """By rival's name, as is the next, with ours."""
    runs: dict[str, list[FleetRun]]
    """In rounds: the n-th runs of all were made one after the other."""
    holds: str = LINKED
    """Describes the site's pages; follows their number in the report."""


def versus(site: FleetSite, rivals: Sequence[Rival], pages: int, rounds: int) -> Versus:
    for each in {pages, *(min(pages, rival.most_pages) for rival in rivals)}:
        site.build(_folder(site, each), each, address)
    runs: dict[str, list[FleetRun]] = {name: [] for name in (OURS, *(rival.name for rival in rivals))}
    for _ in range(rounds):
        runs[OURS].append(_told(OURS, _crawled(site, pages, _ours)))
        for rival in rivals:
            run = _crawled(site, min(pages, rival.most_pages), lambda *given, rival=rival: _rivals(rival, *given))
            runs[rival.name].append(_told(rival.name, run))
    return Versus(pages, {rival.name: rival.version for rival in rivals}, runs, site.holds)


def _crawled(site: FleetSite, pages: int, crawl: Callable[[str, int, Path], FleetRun]) -> FleetRun:
    """Of the site with exactly these pages."""
    place = Place(("127.0.0.1",), free_port(), tls=False)
    with fresh() as scratch, nginx(place, _folder(site, pages), scratch):
        return crawl(place.url(0), pages, scratch)


def _folder(site: FleetSite, pages: int) -> Path:
    return WORK / f"{site.name}-{pages}"


def _ours(url: str, pages: int, scratch: Path) -> FleetRun:
    with fleet(scratch) as ours:
        worker, tend = ours.worker(), ours.tend()
        redis_s, tend_s, worker_s = ours.redis.cpu_s(), tend.cpu_s(), worker.cpu_s()
        figures = ours.wait(ours.submit(url, "--no-text", "--per-host", CONCURRENCY))
        if figures["pages"] != pages:
            raise CannotMeasure(f"the fleet brought {figures['pages']} pages instead of {pages}")
        return FleetRun(
            pages,
            worker.cpu_s() - worker_s,
            lasted_s(figures),
            worker.peak_bytes(),
            ours.redis.cpu_s() - redis_s,
            tend.cpu_s() - tend_s,
        )


def _rivals(rival: Rival, url: str, pages: int, scratch: Path) -> FleetRun:
    extra = {"PYTHONUNBUFFERED": "1"}
    with redis_server(scratch, append_only=True) as redis:
        extra["REDIS_URL"] = redis.url
        with session(rival.command(pages), scratch / "output", extra) as peer:
            peer.settle()
            redis_s, peer_s, began = redis.cpu_s(), peer.cpu_s(), time.monotonic()
            rival.seed(redis, url)
            used = peer.used()
            wall_s, output = time.monotonic() - began, peer.output()
        if summary_of(output).get("pages") != pages:
            raise CannotMeasure(f"{rival.name} did not bring {pages} pages:\n{output[-2000:]}")
        cpu_s = used.ru_utime + used.ru_stime - peer_s
        return FleetRun(pages, cpu_s, wall_s, used.ru_maxrss * 1024, redis.cpu_s() - redis_s, 0.0)


def _told(name: str, run: FleetRun) -> FleetRun:
    print(f"fleet: {name} {run.cpu_ms_per_page:.2f} ms per page", file=sys.stderr)
    return run
