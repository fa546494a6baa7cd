"""Runs a spider's callbacks on pages, and offers the requests that they return.

It is a separate module so that a job without a spider does not load what a spider needs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from shoal.engine import request_result
from shoal.engine.active_job import ActiveJob, session_of
from shoal.engine.readers.pool import JobReaders
from shoal.engine.readers.reader_client import ReadFailed
from shoal.engine.reading.conditional_recrawl import NOT_MODIFIED
from shoal.engine.reading.file_requests import offer_files
from shoal.engine.reading.page_record import page_record
from shoal.engine.reading.parse_page import is_read_here
from shoal.engine.reading.read_by_rules import findings_of, rules_question
from shoal.engine.reading.read_html import apply_page_head
from shoal.engine.reading.redirects import is_same_origin
from shoal.engine.request_result import RequestResult, add_links, add_refusal, add_skips
from shoal.errors import InvalidURL, UsageError
from shoal.extract.html_tags import HTML_TYPES
from shoal.extract.page import PageHead
from shoal.fetch.charset import to_utf8
from shoal.fetch.exchange import Exchange, Failure, Headers
from shoal.model import (
    Canonical,
    Completion,
    DeadLetter,
    Drop,
    Lease,
    Offer,
    Outcome,
    PageRecord,
    RequestOptions,
    Target,
    Trail,
)
from shoal.model.record import HANDLED
from shoal.model.request_options import identity_of, inherited
from shoal.spiders.callback_limits import CallbackLimits
from shoal.spiders.file_field import has_files
from shoal.spiders.item import Item
from shoal.spiders.item_schema import declared_items, type_of
from shoal.spiders.page import Page, Request
from shoal.spiders.request_arguments import callback_name, check_request, check_trail
from shoal.spiders.rule_cost import is_cheap
from shoal.spiders.run_callback import CallbackFailed, CallbackResult, run
from shoal.spiders.spider import Spider
from shoal.store.crawl.save_batch import SelectorUse
from shoal.urls import canonical, fingerprint, with_identity
from shoal.urls.resolve_links import targets_of

OUR_FAILURES = frozenset({"callback", "malformed", "poison", "unreadable"})
"""Reasons of dead letters that no errors callback gets: the fault is not the host's."""
MOST_SELECTORS = 1_000
"""How many selectors of a spider to count: it may make new ones for every page."""
COSTLY_S = 0.5
"""Rules that take this long for a page, although their estimated cost was low, no longer run in this process."""


class SpiderCallbacks:
    def __init__(self, spider: Spider, bounds: CallbackLimits | None = None) -> None:
        self.spider = spider
        self._bounds = bounds or CallbackLimits()
        declared = declared_items(spider)
        self._known_types: set[type[Item]] = set(declared)
        self.item_types = [type_of(cls) for cls in declared]
        """The types that are known before the first page."""
        self.version = spider.version
        self.has_files = any(has_files(cls) for cls in declared)
        """Whether items may refer to files."""
        self._matched: dict[SelectorUse, bool] = {}
        """Whether a selector has matched on any page so far."""
        self._proved_costly = False
        """A page took the rules long although their estimated cost was low. From then on reader processes run them."""

    async def interpret(
        self, active_job: ActiveJob, done: RequestResult, record: PageRecord, answer: Exchange, readers: JobReaders
    ) -> RequestResult:
        """Raises ReadFailed if a page ended its reader, and ReadAbandoned if it was not read."""
        lease = done.lease
        page = page_of(record, answer.body, answer.headers, lease.trail.meta, lease.trail.input)
        # The record of an unchanged page has the status 304; the callback gets the page as it was.
        page.status = answer.status
        page.session = session_of(lease)
        page.rendered = answer.rendered
        page.shared = active_job.shared
        try:
            findings, head = await self._findings(lease.trail.callback, page, readers, active_job.token)
            if head is None and active_job.spec.canonical is Canonical.MERGE and is_read_here(page.body):
                # Items of pages with the same canonical URL count once, however the callback reads the page.
                head = page.reading.head if record.content_type in HTML_TYPES else None
            if head is not None:
                apply_page_head(active_job, record, head)
            self._keep(active_job, done, record, findings, lease.trail.callback)
            done.lacks_items = not findings.items and (bool(findings.rejects) or _found_none(findings))
        except CallbackFailed as failed:
            return _callback_failed(lease, answer.status, failed)
        self._count_matches(done, lease.trail.callback, findings)
        return done

    async def handle_failure(
        self, active_job: ActiveJob, result: RequestResult, answer: Exchange | Failure | None, readers: JobReaders
    ) -> RequestResult:
        """Gives a failed request to its errors callback, if it has one. With an answer it becomes a page, otherwise a
        dropped request. If the callback fails too, the request ends as it would have without it."""
        lease, failure = result.lease, failure_words(result)
        options = lease.trail.options
        if failure is None or options is None or options.errors is None:
            return result
        exchange = answer if isinstance(answer, Exchange) else None
        done, page = _answered(lease, exchange, failure) if exchange is not None else _unanswered(result, failure)
        done.failed, done.why = result.failed, result.why
        page.shared = active_job.shared
        page.session = session_of(lease)
        try:
            findings, _ = await self._findings(options.errors, page, readers, active_job.token)
            assert isinstance(done.record, PageRecord | Drop)
            self._keep(active_job, done, done.record, findings, options.errors)
        except CallbackFailed as failed:
            if not isinstance(result.record, DeadLetter):
                return _callback_failed(lease, page.status, failed)
            result.record.detail = f"{result.record.detail}; its errors callback failed: {failed.reason}"
            return result
        return done

    def _keep(
        self,
        active_job: ActiveJob,
        done: RequestResult,
        record: PageRecord | Drop,
        findings: CallbackResult,
        callback: str,
    ) -> None:
        """Raises CallbackFailed."""
        record.items, record.rejects = findings.items, findings.rejects
        done.dropped_items = findings.dropped
        if findings.files and isinstance(record, PageRecord):
            self.has_files = True
            offer_files(active_job, done, record, findings.files)
        new_types = findings.types - self._known_types
        self._known_types |= new_types
        active_job.new_types += [type_of(found) for found in new_types]
        try:
            offer_requests(active_job, done, findings.requests)
        except (TypeError, ValueError, AttributeError, UsageError) as error:
            # A request checks its arguments, but the callback may change it later.
            raise CallbackFailed.of(self.spider, callback, error) from error

    def _count_matches(self, done: RequestResult, callback: str, findings: CallbackResult) -> None:
        """A selector that has matched once is never reported, so it need not be counted again."""
        for (use, selector), found in findings.matches.items():
            used = SelectorUse(use, callback or self.spider.start.__name__, selector)
            if self._matched.get(used, False) or (used not in self._matched and len(self._matched) >= MOST_SELECTORS):
                continue
            self._matched[used] = found
            done.matches[used] = found

    async def _findings(
        self, callback: str, page: Page, readers: JobReaders, agent: str
    ) -> tuple[CallbackResult, PageHead | None]:
        if self.spider.rules is None:
            found = await run(self.spider, callback, page, self._bounds, readers.mark)
            return found, page.parsed_head(agent)
        if self._proved_costly or not is_cheap(self.spider, callback, page):
            return await self._read_by_rules(callback, page, readers, agent)
        began = time.perf_counter()
        findings = await run(self.spider, callback, page, self._bounds)
        self._proved_costly = time.perf_counter() - began > COSTLY_S
        return findings, page.parsed_head(agent)

    async def _read_by_rules(
        self, callback: str, page: Page, readers: JobReaders, agent: str
    ) -> tuple[CallbackResult, PageHead | None]:
        spider = self.spider
        try:
            reply = await readers.ask(rules_question(spider, callback, page, agent=agent), page.body)
        except ReadFailed as error:
            if not error.is_too_costly:
                raise
            raise CallbackFailed.saying(spider, callback, str(error)) from error
        return findings_of(reply, spider)


def _found_none(findings: CallbackResult) -> bool:
    return any(use == "each" and not found for (use, _), found in findings.matches.items())


def failure_words(result: RequestResult) -> str | None:
    """Why a request failed, in the words of dead letters; None if it did not, or if its own callback failed."""
    record, options = result.record, result.lease.trail.options
    if isinstance(record, PageRecord):
        # The callback of an unchanged page got it from the archive.
        good = 200 <= record.status < 300 or (record.status == NOT_MODIFIED and record.changed is False)
        wanted = good or (options is not None and record.status in options.statuses)
        return None if wanted else f"status {record.status}"
    if not isinstance(record, DeadLetter) or record.reason in OUR_FAILURES:
        return None
    return f"status {record.status}" if record.reason == "http" else record.reason


def _callback_failed(lease: Lease, status: int, failed: CallbackFailed) -> RequestResult:
    result = request_result.dead(lease, "callback", status, failed.reason)
    result.why = failed.reason
    return result


def _answered(lease: Lease, answer: Exchange, failure: str) -> tuple[RequestResult, Page]:
    record = page_record(lease, answer)
    done = RequestResult(lease, Completion(lease.token, Outcome.DONE, bytes=answer.wire_bytes), record)
    page = page_of(record, answer.body, answer.headers, lease.trail.meta, lease.trail.input)
    page.rendered = answer.rendered
    page.failure = failure
    return done, page


def _unanswered(result: RequestResult, failure: str) -> tuple[RequestResult, Page]:
    lease, dead = result.lease, result.record
    detail = f"{failure}: {dead.detail}" if isinstance(dead, DeadLetter) and dead.detail else failure
    done = request_result.drop(lease, HANDLED, detail, result.completion.started)
    trail = lease.trail
    return done, failed_page(lease.target.url, trail.depth, trail.meta, trail.input, failure)


def offer_requests(active_job: ActiveJob, done: RequestResult, requests: list[Request]) -> None:
    """Offers requests that share a trail together, in the order they were made."""
    lease = done.lease
    depth = lease.trail.depth + 1
    if active_job.is_too_deep(depth):
        add_skips(done, {"too_deep": len(requests)})
        return
    together: dict[tuple[str, int, str, RequestOptions | None], list[Request]] = {}
    for request in requests:
        callback = lease.trail.callback if request.callback is None else request.callback
        meta = "" if request.meta is None else json.dumps(request.meta)
        options = options_of(request, lease.target.url, lease.trail.options)
        together.setdefault((callback, request.priority, meta, options), []).append(request)
    for (callback, priority, _, options), alike in together.items():
        check_trail(alike[0].meta, priority)
        name = callback_name(callback) or ""
        trail = Trail(depth, priority, lease.target.fingerprint, name, alike[0].meta, (), options, lease.trail.input)
        identity = identity_of(options)
        others = [request for request in alike if identity or not request.is_plain]
        plain = [] if identity else [request.url for request in alike if request.is_plain]
        targets = _plain_targets(active_job, done, plain) + _other_targets(active_job, done, others, identity)
        if targets:
            done.offers.append(Offer(lease.job, targets, trail))


def _plain_targets(active_job: ActiveJob, done: RequestResult, urls: list[str]) -> list[Target]:
    links = active_job.resolver.resolve(done.lease.target.url, urls, only_new=True)
    add_links(done, links)
    done.links += links.fresh
    return targets_of(links.fresh)


def _other_targets(active_job: ActiveJob, done: RequestResult, requests: list[Request], identity: str) -> list[Target]:
    targets = []
    for request in requests:
        check_request(request.url, request.method, request.body, request.content_type)
        try:
            plain = active_job.target(request.url)
        except InvalidURL as error:
            add_skips(done, {error.reason: 1})
            continue
        refusal = active_job.resolver.refusal(plain.url)
        if refusal is not None:
            add_refusal(done, refusal, plain.url)
            continue
        key = fingerprint(plain.url, request.method, request.body)
        target = Target(plain.url, key, plain.host, request.method, request.body, request.content_type)
        targets.append(with_identity(target, identity))
    return targets


def options_of(request: Request, url: str, page: RequestOptions | None) -> RequestOptions | None:
    """With what it inherits from the page at this URL, which was fetched with the options `page`."""
    if page is None or not page.identity:
        return request.options
    try:
        return inherited(request.options, page, is_same_origin(url, canonical(request.url)))
    except InvalidURL:
        return request.options


def page_of(
    record: PageRecord,
    body: bytes,
    headers: Headers,
    meta: Mapping[str, Any] | None,
    input: Mapping[str, str] | None = None,
) -> Page:
    """The page that a callback receives."""
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
        input=input or {},
    )


def failed_page(
    url: str, depth: int, meta: Mapping[str, Any] | None, input: Mapping[str, str] | None, failure: str
) -> Page:
    """What an errors callback receives if there was no answer."""
    return Page(url, b"", 0, "", meta=meta or {}, depth=depth, input=input or {}, failure=failure)
