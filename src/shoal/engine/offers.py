"""Requests that a page leads to beyond its plain links: what a spider asks for, and what a sitemap lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from shoal.engine.ending import Ending, add_skips
from shoal.engine.work import SITEMAP, Work
from shoal.errors import InvalidURL
from shoal.extract.sitemaps import Sitemap
from shoal.fetch.exchange import Exchange
from shoal.frontier.record import trail_text
from shoal.model import Lease, Offer, Target, Trail
from shoal.spiders.page import Request
from shoal.urls import fingerprint, trap

SITEMAP_NESTING = 5
OFFERED_AT_ONCE = 1_000


def offer_requests(work: Work, done: Ending, requests: list[Request]) -> None:
    """Those that share a trail are offered together, in the order they were made."""
    lease = done.lease
    depth = lease.trail.depth + 1
    if work.is_too_deep(depth):
        add_skips(done, {"too_deep": len(requests)})
        return
    together: dict[str, tuple[Trail, list[Request]]] = {}
    for request in requests:
        callback = lease.trail.callback if request.callback is None else request.callback
        trail = Trail(depth, request.priority, lease.target.fingerprint, callback, request.meta)
        together.setdefault(trail_text(trail), (trail, []))[1].append(request)
    for trail, alike in together.values():
        targets = _plain_targets(work, done, alike) + _other_targets(work, done, alike)
        if targets:
            done.offers.append(Offer(lease.job, targets, trail))


def _is_plain(request: Request) -> bool:
    return request.method == "GET" and not request.body


def _plain_targets(work: Work, done: Ending, requests: list[Request]) -> list[Target]:
    links = work.resolver.resolve(done.lease.target.url, [r.url for r in requests if _is_plain(r)])
    add_skips(done, links.skipped)
    return links.targets


def _other_targets(work: Work, done: Ending, requests: list[Request]) -> list[Target]:
    targets = []
    for request in requests:
        if _is_plain(request):
            continue
        try:
            plain = work.target(request.url)
        except InvalidURL as error:
            add_skips(done, {error.reason: 1})
            continue
        refusal = work.scope.refusal(plain.url) or ("trap" if trap(plain.url) else None)
        if refusal is not None:
            add_skips(done, {refusal: 1})
            continue
        key = fingerprint(plain.url, request.method, request.body)
        targets.append(Target(plain.url, key, plain.host, request.method, request.body, request.content_type))
    return targets


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
