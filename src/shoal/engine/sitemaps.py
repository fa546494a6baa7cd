"""Requests that a sitemap leads to: the pages it lists, and further sitemaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from shoal.engine.ending import Ending, add_skips
from shoal.engine.work import SITEMAP, Work
from shoal.errors import InvalidURL
from shoal.extract.sitemaps import Sitemap
from shoal.fetch.exchange import Exchange
from shoal.model import Lease, Offer, Trail

SITEMAP_NESTING = 5
OFFERED_AT_ONCE = 1_000


def sitemap_offers(work: Work, done: Ending, answer: Exchange) -> Iterator[Offer]:
    """What a sitemap lists, in parts that can be offered one by one. Its pages are as near as seeds."""
    lease, sitemap = done.lease, Sitemap(answer.body)
    nesting = len(lease.trail.chain)
    entries = iter(sitemap)
    while part := list(islice(entries, OFFERED_AT_ONCE)):
        pages = work.resolver.resolve(lease.target.url, [entry.url for entry in part if entry.kind == "url"])
        add_skips(done, pages.skipped)
        yield Offer(lease.job, pages.targets, Trail(parent=lease.target.fingerprint))
        maps = [entry.url for entry in part if entry.kind == "sitemap"]
        if maps and nesting < SITEMAP_NESTING:
            yield sitemap_offer(work, maps, lease)
    if sitemap.fault is not None:
        done.failed, done.why = ("sitemap", answer.status), sitemap.fault


def sitemap_offer(work: Work, urls: Iterable[str], parent: Lease | None = None) -> Offer:
    """Sitemaps themselves need not be in scope: a robots.txt or an index that is vouches for them."""
    targets = []
    for url in urls:
        try:
            targets.append(work.target(url))
        except InvalidURL:
            continue
    chain = (*parent.trail.chain, parent.target.fingerprint) if parent else ()
    return Offer(work.job, targets, Trail(priority=1, callback=SITEMAP, chain=chain))
