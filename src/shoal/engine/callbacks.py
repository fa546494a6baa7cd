"""A spider at work: its callback reads the page, and what it asks for is offered.

Apart from the rest of the engine because a job without a spider should not pay for loading what a spider needs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from shoal.engine import ending
from shoal.engine.aside import JobReaders, Unread
from shoal.engine.ending import Ending, add_links, add_refusal, add_skips
from shoal.engine.rule_reading import findings_of, rules_question
from shoal.engine.work import Work
from shoal.errors import InvalidURL
from shoal.fetch.charset import to_utf8
from shoal.fetch.exchange import Exchange, Headers
from shoal.model import Offer, PageRecord, Target, Trail
from shoal.spiders.bounds import Bounds
from shoal.spiders.item import Item, type_of
from shoal.spiders.page import Page, Request
from shoal.spiders.rule_cost import is_cheap
from shoal.spiders.running import CallbackFailed, Findings, run
from shoal.spiders.spider import Spider
from shoal.urls import fingerprint
from shoal.urls.resolve import targets_of

COSTLY_S = 0.5
"""Rules that take a page as long here, in spite of what was reckoned, are not run here again."""


class Callbacks:
    def __init__(self, spider: Spider, bounds: Bounds | None = None) -> None:
        self._spider = spider
        self._bounds = bounds or Bounds()
        self._known_types: set[type[Item]] = set()
        self._proved_costly = False
        """A page took the rules long although they looked cheap: from then on other processes read by them."""

    async def conclude(
        self, work: Work, done: Ending, record: PageRecord, answer: Exchange, readers: JobReaders
    ) -> Ending:
        """Raises Unread of a page that ended its reader, and GivenUp of one that was not read."""
        lease = done.lease
        page = page_of(record, answer.body, answer.headers, lease.trail.meta)
        try:
            findings, record.title = await self._findings(lease.trail.callback, page, readers)
        except CallbackFailed as failed:
            end = ending.dead(lease, "callback", answer.status, failed.reason)
            end.why = failed.reason
            return end
        record.items, record.rejects = findings.items, findings.rejects
        new_types = findings.types - self._known_types
        self._known_types |= new_types
        work.new_types += [type_of(found) for found in new_types]
        offer_requests(work, done, findings.requests)
        return done

    async def _findings(self, callback: str, page: Page, readers: JobReaders) -> tuple[Findings, str | None]:
        if self._spider.rules is None:
            return await run(self._spider, callback, page, self._bounds), page.parsed_title()
        if self._proved_costly or not is_cheap(self._spider, callback, page):
            return await self._read_by_rules(callback, page, readers)
        began = time.perf_counter()
        findings = await run(self._spider, callback, page, self._bounds)
        self._proved_costly = time.perf_counter() - began > COSTLY_S
        return findings, page.parsed_title()

    async def _read_by_rules(self, callback: str, page: Page, readers: JobReaders) -> tuple[Findings, str | None]:
        spider = self._spider
        try:
            reply = await readers.ask(rules_question(spider, callback, page), page.body)
        except Unread as error:
            if not error.is_too_costly:
                raise
            raise CallbackFailed.saying(spider, callback, str(error)) from error
        return findings_of(reply, spider)


def offer_requests(work: Work, done: Ending, requests: list[Request]) -> None:
    """Those that share a trail are offered together, in the order they were made."""
    lease = done.lease
    depth = lease.trail.depth + 1
    if work.is_too_deep(depth):
        add_skips(done, {"too_deep": len(requests)})
        return
    together: dict[tuple[str, int, str], list[Request]] = {}
    for request in requests:
        callback = lease.trail.callback if request.callback is None else request.callback
        meta = "" if request.meta is None else json.dumps(request.meta)
        together.setdefault((callback, request.priority, meta), []).append(request)
    for (callback, priority, _), alike in together.items():
        trail = Trail(depth, priority, lease.target.fingerprint, callback, alike[0].meta)
        others = [request for request in alike if not request.is_plain]
        plain = [request.url for request in alike if request.is_plain]
        targets = _plain_targets(work, done, plain) + _other_targets(work, done, others)
        if targets:
            done.offers.append(Offer(lease.job, targets, trail))


def _plain_targets(work: Work, done: Ending, urls: list[str]) -> list[Target]:
    links = work.resolver.resolve(done.lease.target.url, urls, only_new=True)
    add_links(done, links)
    done.links += links.fresh
    return targets_of(links.fresh)


def _other_targets(work: Work, done: Ending, requests: list[Request]) -> list[Target]:
    targets = []
    for request in requests:
        try:
            plain = work.target(request.url)
        except InvalidURL as error:
            add_skips(done, {error.reason: 1})
            continue
        refusal = work.resolver.refusal(plain.url)
        if refusal is not None:
            add_refusal(done, refusal, plain.url)
            continue
        key = fingerprint(plain.url, request.method, request.body)
        targets.append(Target(plain.url, key, plain.host, request.method, request.body, request.content_type))
    return targets


def page_of(record: PageRecord, body: bytes, headers: Headers, meta: Mapping[str, Any] | None) -> Page:
    """What a callback is given."""
    spoken = record.content_type.startswith("text/") or "xml" in record.content_type or "json" in record.content_type
    return Page(
        url=record.url,
        body=body,
        status=record.status,
        content_type=record.content_type,
        headers={name.lower(): value for name, value in headers},
        meta=meta or {},
        depth=record.depth,
        html=to_utf8(body, headers.get("content-type")) if spoken else b"",
    )
