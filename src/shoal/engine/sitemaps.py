"""Requests that a sitemap leads to: the pages it lists, and further sitemaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shoal.engine.ending import Ending, add_links
from shoal.engine.reading import SitemapPart
from shoal.engine.work import SITEMAP, Work
from shoal.errors import InvalidURL
from shoal.model import Lease, Offer, PageRecord, Trail

SITEMAP_NESTING = 5


def sitemap_offers(work: Work, done: Ending, part: SitemapPart) -> Iterator[Offer]:
    """What a part of a sitemap lists. Its pages are as near as seeds."""
    lease = done.lease
    pages = work.resolver.resolve(lease.target.url, part.pages)
    add_links(done, pages)
    yield Offer(lease.job, pages.targets, Trail(parent=lease.target.fingerprint))
    if part.sitemaps and len(lease.trail.chain) < SITEMAP_NESTING:
        yield sitemap_offer(work, part.sitemaps, lease)
    if part.fault is not None:
        status = done.record.status if isinstance(done.record, PageRecord) else None
        done.failed, done.why = ("sitemap", status), part.fault


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
