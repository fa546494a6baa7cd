"""The requests that a sitemap or feed leads to: the pages it lists, and further sitemaps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from shoal.engine.active_job import SITEMAP, ActiveJob
from shoal.engine.reading.parse_page import SitemapPart
from shoal.engine.request_result import Listing, RequestResult, add_links, add_skips
from shoal.errors import InvalidURL
from shoal.extract.html_tags import HTML_TYPES
from shoal.extract.page import MAX_LINKS
from shoal.extract.robots_directives import robots_of_header
from shoal.fetch.exchange import Exchange
from shoal.model import LAST, Lease, Offer, PageRecord, Target, Trail
from shoal.urls import PageLinks

MOST_NAMED = (50_000, 100)
"""How many sitemaps an index may name, and how many an index within an index may. Deeper ones may name none. The
protocol allows 50,000 and no index within an index. Some sites have them, but without a limit each could name as many
again."""
MOST_BY_ROBOTS = 1_000
"""How many sitemaps a robots.txt may name. They come before all pages, and the event loop reads their URLs."""
_TOO_MANY = "too_many_sitemaps"
_BY_HOST = Trail(priority=1, callback=SITEMAP)
_GIVEN = {"given": True}
"""Marks a sitemap that a source of the job names."""
_XML_START = re.compile(rb"[\xef\xbb\xbf\s]*+<(?:\?xml|(?:\w+:)?(?:rss|RDF|feed|urlset|sitemapindex)[\s>])")
_XHTML_START = re.compile(rb"[\xef\xbb\xbf\s]*+<\?xml[^<>]*+>\s*+<(?:!DOCTYPE\s+)?html[\s>]", re.IGNORECASE)


def listing_of(active_job: ActiveJob, lease: Lease, content_type: str, body: bytes) -> Listing | None:
    """How to read a document that was not requested as a sitemap; None: it lists no URLs, or a callback reads it.

    One that was given as a source is read as a sitemap. One that was met is if the job reads sitemaps; otherwise a
    feed is read for links. A spider gets its start URLs itself, unless the job reads sitemaps.
    """
    if content_type in HTML_TYPES and (not _XML_START.match(body) or _XHTML_START.match(body)):
        return None
    # Imported here only: most documents are pages.
    from shoal.extract.sitemaps import sitemap_kind

    kind = sitemap_kind(content_type, body)
    if kind is None:
        return None
    is_source, callbacks = lease.trail.parent is None, active_job.callbacks
    if callbacks is not None:
        # No rule is for a sitemap, but one may be for a feed.
        read = active_job.spec.sitemaps or (kind == "sitemap" and callbacks.spider.rules is not None)
        return Listing.SITEMAP if is_source and read else None
    if is_source or active_job.spec.sitemaps:
        return Listing.SITEMAP
    return Listing.FEED if kind == "feed" else None


class SitemapRequests:
    """The requests of one sitemap, part by part."""

    def __init__(self, active_job: ActiveJob, done: RequestResult) -> None:
        self._active_job = active_job
        self._done = done
        trail = done.lease.trail
        is_requested = trail.callback == SITEMAP
        self._is_given = trail.meta == _GIVEN if is_requested else trail.parent is None
        # The depth of a sitemap is the number of indexes that led to it. Redirects between them do not count. One that
        # a page links to may name as few as an index within an index.
        self._depth = trail.depth if is_requested else int(not self._is_given)
        self._room = MOST_NAMED[self._depth] if self._depth < len(MOST_NAMED) else 0

    def offers(self, part: SitemapPart) -> Iterator[Offer]:
        """Its pages have the depth of seeds."""
        done, lease = self._done, self._done.lease
        pages = self._active_job.resolver.resolve(lease.target.url, part.pages)
        targets = pages.targets + self._beyond_scope(pages)
        add_links(done, pages)
        yield Offer(lease.job, targets, Trail(parent=lease.target.fingerprint, input=lease.trail.input))
        if named := self._within_room(part.sitemaps):
            # After the known pages: an index cannot delay them, whatever it names.
            meta = _GIVEN if self._is_given else None
            yield _offer(self._active_job, named, Trail(self._depth + 1, priority=LAST, callback=SITEMAP, meta=meta))
        note_fault(done, part)

    def _beyond_scope(self, pages: PageLinks) -> list[Target]:
        """In a job of listed URLs, what a listed sitemap names is listed too."""
        active_job = self._active_job
        if not self._is_given or not active_job.scope.is_listed:
            return []
        urls = [link.url for link in pages.links if link.url and link.skip == "off_scope"]
        admitted = [url for url in urls if not active_job.scope.excludes(url) and not active_job.resolver.trap(url)]
        pages.skipped["off_scope"] = pages.skipped.get("off_scope", 0) - len(admitted)
        return [active_job.target(url) for url in dict.fromkeys(admitted)]

    def _within_room(self, urls: list[str]) -> list[str]:
        named = urls[: self._room]
        self._room -= len(named)
        add_skips(self._done, {_TOO_MANY: len(urls) - len(named)})
        return named


class FeedRequests:
    """The requests of a feed whose URLs are links like those of a page."""

    def __init__(self, active_job: ActiveJob, done: RequestResult, header_robots: str) -> None:
        self._active_job = active_job
        self._done = done
        asked = robots_of_header(header_robots, active_job.token)
        self._nofollow = asked.nofollow and active_job.spec.politeness.robots
        self._room = MAX_LINKS

    def offers(self, part: SitemapPart) -> Iterator[Offer]:
        done, lease = self._done, self._done.lease
        note_fault(done, part)
        if self._nofollow:
            add_skips(done, {"nofollow": len(part.pages)})
            return
        hrefs = part.pages[: self._room]
        self._room -= len(hrefs)
        links = self._active_job.resolver.resolve(lease.target.url, hrefs)
        add_links(done, links)
        add_skips(done, {"too_many_links": len(part.pages) - len(hrefs)})
        depth = lease.trail.depth + 1
        if self._active_job.is_too_deep(depth):
            add_skips(done, {"too_deep": len(links.targets)})
        else:
            yield Offer(lease.job, links.targets, Trail(depth, parent=lease.target.fingerprint))


def listed_requests(active_job: ActiveJob, done: RequestResult, answer: Exchange) -> SitemapRequests | FeedRequests:
    if done.listing is Listing.SITEMAP:
        return SitemapRequests(active_job, done)
    return FeedRequests(active_job, done, "\n".join(answer.headers.get_all("x-robots-tag")))


def note_fault(done: RequestResult, part: SitemapPart) -> None:
    if part.fault is not None:
        status = done.record.status if isinstance(done.record, PageRecord) else None
        done.failed, done.why = ("sitemap", status), part.fault


def sitemaps_of_host(active_job: ActiveJob, urls: Iterable[str]) -> Offer:
    """Sitemaps that the robots.txt names, or the usual one."""
    # Some files repeat them for every crawler.
    named = list(dict.fromkeys(urls))
    active_job.skipped[_TOO_MANY] += len(named[MOST_BY_ROBOTS:])
    return _offer(active_job, named[:MOST_BY_ROBOTS], _BY_HOST)


def _offer(active_job: ActiveJob, urls: Iterable[str], trail: Trail) -> Offer:
    """Sitemaps need not be in scope themselves: the robots.txt or index that names them is."""
    targets = []
    for url in urls:
        try:
            targets.append(active_job.target(url))
        except InvalidURL:
            continue
    return Offer(active_job.id, targets, trail)
