"""Requests that a sitemap leads to: the pages it lists, and further sitemaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shoal.engine.ending import Ending, add_links, add_skips
from shoal.engine.reading import SitemapPart
from shoal.engine.work import SITEMAP, Work
from shoal.errors import InvalidURL
from shoal.model import LAST, Offer, PageRecord, Trail

MOST_NAMED = (50_000, 100)
"""Sitemaps that an index may name, and an index named by that one; any further in names none. The protocol allows the
first, and no index within an index: some sites have them, but without a bound each of them may name as many again."""
MOST_BY_ROBOTS = 1_000
"""Sitemaps that a robots.txt may name. They go before all pages, and their URLs are read on the event loop."""
_TOO_MANY = "too_many_sitemaps"
_BY_HOST = Trail(priority=1, callback=SITEMAP)


class Listing:
    """What one sitemap leads to, told part by part."""

    def __init__(self, work: Work, done: Ending) -> None:
        self._work = work
        self._done = done
        # The depth of a sitemap is how many indexes led to it; the redirects between them do not count.
        self._depth = done.lease.trail.depth
        self._room = MOST_NAMED[self._depth] if self._depth < len(MOST_NAMED) else 0

    def offers(self, part: SitemapPart) -> Iterator[Offer]:
        """Its pages are as near as seeds."""
        done, lease = self._done, self._done.lease
        pages = self._work.resolver.resolve(lease.target.url, part.pages)
        add_links(done, pages)
        yield Offer(lease.job, pages.targets, Trail(parent=lease.target.fingerprint))
        if named := self._within_room(part.sitemaps):
            # Behind the pages that are known: no index can hold them up by what it names.
            yield _offer(self._work, named, Trail(self._depth + 1, priority=LAST, callback=SITEMAP))
        if part.fault is not None:
            status = done.record.status if isinstance(done.record, PageRecord) else None
            done.failed, done.why = ("sitemap", status), part.fault

    def _within_room(self, urls: list[str]) -> list[str]:
        named = urls[: self._room]
        self._room -= len(named)
        add_skips(self._done, {_TOO_MANY: len(urls) - len(named)})
        return named


def sitemaps_of_host(work: Work, urls: Iterable[str]) -> Offer:
    """Those that its robots.txt names, or the usual one."""
    # Some files name them anew for every crawler.
    named = list(dict.fromkeys(urls))
    work.skipped[_TOO_MANY] += len(named[MOST_BY_ROBOTS:])
    return _offer(work, named[:MOST_BY_ROBOTS], _BY_HOST)


def _offer(work: Work, urls: Iterable[str], trail: Trail) -> Offer:
    """Sitemaps themselves need not be in scope: a robots.txt or an index that is vouches for them."""
    targets = []
    for url in urls:
        try:
            targets.append(work.target(url))
        except InvalidURL:
            continue
    return Offer(work.job, targets, trail)
