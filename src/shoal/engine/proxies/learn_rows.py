"""The records of a pool as rows of the store, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shoal.fetch.proxies.pool import ProxyPool
from shoal.fetch.proxies.proxy_record import Figures
from shoal.store.proxies.figures import ProxyFigures

WORTH_KEEPING = 3.0
"""A proxy with fewer results at a host is not saved for that host: a crawl of many hosts would fill the table."""
KNOWN_RESULTS = 10.0
"""Earlier results count as at most so many, so that new ones soon outweigh them."""


def changed_rows(pool: ProxyPool, now: float) -> Iterator[ProxyFigures]:
    """What changed since the last call."""
    for place, host, record in list(pool.changes()):
        if host and not record.is_cooled and record.good + record.bad < WORTH_KEEPING:
            continue
        new = record.take_fresh()
        yield ProxyFigures(
            pool.name,
            pool.proxies[place].name,
            host,
            *(new.requests, new.successes, new.failures, new.blocks, new.bytes, new.cost),
            tuple(new.latencies),
            *(record.in_a_row, record.cool_until, record.reason, now),
        )


def learn_rows(pools: Iterable[ProxyPool], rows: Sequence[ProxyFigures]) -> None:
    for pool in pools:
        places = {proxy.name: place for place, proxy in enumerate(pool.proxies)}
        for row in rows:
            if row.pool == pool.name and row.proxy in places:
                _learn(pool, places[row.proxy], row)


def _learn(pool: ProxyPool, place: int, row: ProxyFigures) -> None:
    bad = row.failures + row.blocks
    weight = min(1.0, KNOWN_RESULTS / (row.successes + bad)) if row.successes + bad else 0.0
    latency_s = figures_of(row).latency_s(0.5) or 0.0
    results = row.successes * weight, bad * weight, latency_s
    pool.learn(place, row.host, results, (row.in_a_row, row.cool_until, row.reason))


def figures_of(row: ProxyFigures) -> Figures:
    return Figures(*row[3:9], list(row.latencies))
