"""The shape of a crawl, counted from its pages: how deep and how big they are, how slow hosts are, and which pages led
to which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Connection, Integer, case, cast, func, select

from shoal.store.store import Store
from shoal.store.tables import pages

SIZES = (1_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 10_000_000)
"""The upper bounds of the classes of size; the last class has no bound."""
MOST_HOSTS = 15
MOST_HUBS = 10
MOST_HOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class HostLatency:
    host: str
    pages: int
    mean_ms: int
    max_ms: int


@dataclass(frozen=True, slots=True)
class DepthLevel:
    depth: int
    pages: int
    leading: int
    """Pages on which the crawl found another page."""


@dataclass(frozen=True, slots=True)
class HubPage:
    url: str
    led_to: int
    """Pages that the crawl found there first."""


@dataclass(frozen=True, slots=True)
class HostLink:
    source: str
    target: str
    pages: int
    """Pages of the target that were found on the source."""


@dataclass(frozen=True, slots=True)
class CrawlShape:
    levels: list[DepthLevel]
    """By depth."""
    sizes: list[int]
    """Pages in each class of SIZES."""
    slowest: list[HostLatency]
    hubs: list[HubPage]
    """Those that led to most first."""
    host_links: list[HostLink]
    """Most pages first; a host that leads to itself is among them."""


def crawl_shape(store: Store, job: str) -> CrawlShape:
    with store.read() as db:
        return CrawlShape(_levels(db, job), _sizes(db, job), _slowest(db, job), _hubs(db, job), _host_links(db, job))


def _levels(db: Connection, job: str) -> list[DepthLevel]:
    counts = select(pages.c.depth, func.count()).where(pages.c.job == job).group_by(pages.c.depth)
    parents = select(pages.c.parent).where(pages.c.job == job, pages.c.parent.is_not(None)).distinct().subquery()
    leading = (
        select(pages.c.depth, func.count())
        .join(parents, (pages.c.fingerprint == parents.c.parent) & (pages.c.job == job))
        .group_by(pages.c.depth)
    )
    led: dict[int, int] = dict(db.execute(leading).all())
    return [DepthLevel(depth, n, led.get(depth, 0)) for depth, n in db.execute(counts.order_by(pages.c.depth))]


def _sizes(db: Connection, job: str) -> list[int]:
    nth = case(*((pages.c.bytes < bound, place) for place, bound in enumerate(SIZES)), else_=len(SIZES))
    counts = select(cast(nth, Integer).label("class"), func.count()).where(pages.c.job == job).group_by("class")
    found: dict[int, int] = dict(db.execute(counts).all())
    return [found.get(place, 0) for place in range(len(SIZES) + 1)]


def _slowest(db: Connection, job: str) -> list[HostLatency]:
    n, total, most = func.count(), func.sum(pages.c.duration_ms), func.max(pages.c.duration_ms)
    mean = cast(total, BigInteger) // n
    hosts = select(pages.c.host, n, mean, most).where(pages.c.job == job).group_by(pages.c.host)
    return [HostLatency(*row) for row in db.execute(hosts.order_by(mean.desc(), pages.c.host).limit(MOST_HOSTS))]


def _hubs(db: Connection, job: str) -> list[HubPage]:
    n = func.count().label("n")
    led = select(pages.c.parent, n).where(pages.c.job == job, pages.c.parent.is_not(None)).group_by(pages.c.parent)
    most = led.order_by(n.desc(), pages.c.parent).limit(MOST_HUBS).subquery()
    hubs = select(pages.c.url, most.c.n).join(most, (pages.c.fingerprint == most.c.parent) & (pages.c.job == job))
    return [HubPage(*row) for row in db.execute(hubs.order_by(most.c.n.desc(), pages.c.url))]


def _host_links(db: Connection, job: str) -> list[HostLink]:
    source: Any = pages.alias("source")
    n = func.count()
    links = (
        select(source.c.host, pages.c.host, n)
        .join(source, (source.c.job == pages.c.job) & (source.c.fingerprint == pages.c.parent))
        .where(pages.c.job == job)
        .group_by(source.c.host, pages.c.host)
    )
    most = links.order_by(n.desc(), source.c.host, pages.c.host).limit(MOST_HOST_LINKS)
    return [HostLink(*row) for row in db.execute(most)]
