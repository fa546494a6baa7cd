"""A spider at work: its callback reads the page, and what it asks for is offered.

Apart from the rest of the engine because a job without a spider should not pay for loading what a spider needs.
"""

from __future__ import annotations

from shoal.engine import ending
from shoal.engine.ending import Ending, add_skips
from shoal.engine.work import Work
from shoal.errors import InvalidURL
from shoal.fetch.charset import to_utf8
from shoal.fetch.exchange import Exchange
from shoal.frontier.record import trail_text
from shoal.model import Lease, Offer, PageRecord, Target, Trail
from shoal.spiders.bounds import Bounds
from shoal.spiders.item import Item, type_of
from shoal.spiders.page import Page, Request
from shoal.spiders.running import CallbackFailed, run
from shoal.spiders.spider import Spider
from shoal.urls import fingerprint, trap


class Callbacks:
    def __init__(self, spider: Spider, bounds: Bounds | None = None) -> None:
        self._spider = spider
        self._bounds = bounds or Bounds()
        self._known_types: set[type[Item]] = set()

    async def conclude(self, work: Work, done: Ending, record: PageRecord, answer: Exchange) -> Ending:
        lease = done.lease
        page = spider_page(lease, record, answer)
        try:
            findings = await run(self._spider, lease.trail.callback, page, self._bounds)
        except CallbackFailed as failed:
            end = ending.dead(lease, "callback", answer.status, failed.reason)
            end.why = failed.reason
            return end
        record.title = page.parsed_title()
        record.items, record.rejects = findings.items, findings.rejects
        new_types = findings.types - self._known_types
        self._known_types |= new_types
        work.new_types += [type_of(found) for found in new_types]
        offer_requests(work, done, findings.requests)
        return done


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


def spider_page(lease: Lease, record: PageRecord, answer: Exchange) -> Page:
    spoken = record.content_type.startswith("text/") or "xml" in record.content_type or "json" in record.content_type
    content_type = answer.headers.get("content-type")
    return Page(
        url=lease.target.url,
        body=answer.body,
        status=answer.status,
        content_type=record.content_type,
        headers={name.lower(): value for name, value in answer.headers},
        meta=lease.trail.meta or {},
        depth=lease.trail.depth,
        html=to_utf8(answer.body, content_type) if spoken else b"",
    )
