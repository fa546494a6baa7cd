"""One job as the engine works on it: its scope, cookies and fetcher, and how an answer becomes an ending."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from shoal.engine import ending
from shoal.engine.ending import Ending
from shoal.engine.policy import MAX_HOPS, retry_wait_s, verdict
from shoal.errors import InvalidURL
from shoal.extract.page import read
from shoal.extract.sitemaps import Sitemap
from shoal.fetch.charset import to_utf8
from shoal.fetch.cookies import Jar
from shoal.fetch.curl import Fetcher
from shoal.fetch.exchange import Exchange, Failure
from shoal.fetch.transfer import Fetch
from shoal.model import (
    Completion,
    JobSpec,
    Lease,
    Offer,
    Outcome,
    PageContent,
    PageRecord,
    RedirectRecord,
    ScopeKind,
    Target,
    Trail,
)
from shoal.urls import Params, Resolver, Scope, origin_of, target, trap

SITEMAP = "#sitemap"
"""Callback of requests whose answer is read as a sitemap; no spider's callback can be called so."""
PAGE_BYTES = 10_000_000
SITEMAP_BYTES = 60_000_000
SITEMAP_NESTING = 5
OFFERED_AT_ONCE = 1_000
HTML_TYPES = ("text/html", "application/xhtml+xml")
CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


class Work:
    def __init__(
        self, job: str, spec: JobSpec, seeds: Iterable[str], admitted: Iterable[str], fetcher: Fetcher
    ) -> None:
        self.job = job
        self.spec = spec
        self.fetcher = fetcher
        self.jar = Jar()
        self.newly_admitted: list[str] = []
        self.cookies_changed = False
        self.params = Params(frozenset(spec.keep_params), frozenset(spec.drop_params))
        seeds = list(seeds)
        self.scope = Scope(spec.scope, seeds, spec.include, spec.exclude)
        for url in admitted:
            self.scope.admit(url)
        self._resolver = Resolver(self.scope, self.params, spec.politeness.group)
        self._seed_origins = {origin_of(url) for url in seeds}
        self._open_headers = {k: v for k, v in spec.headers.items() if k.lower() not in CREDENTIAL_HEADERS}
        for cookie in spec.cookies:
            for origin in self._seed_origins:
                self.jar.add(origin + "/", cookie)

    def headers_for(self, origin: str) -> dict[str, str]:
        """Those that carry credentials go only to where the job began."""
        return dict(self.spec.headers) if origin in self._seed_origins else self._open_headers

    def call(self, lease: Lease) -> Fetch:
        wanted = lease.target
        origin = origin_of(wanted.url)
        return Fetch(
            url=wanted.url,
            method=wanted.method,
            body=wanted.body,
            content_type=wanted.content_type,
            headers=self.headers_for(origin),
            jar=self.jar,
            proxy=self.proxy,
            credentials=self.spec.credentials.get(origin, ""),
            max_bytes=SITEMAP_BYTES if lease.trail.callback == SITEMAP else PAGE_BYTES,
        )

    @property
    def proxy(self) -> str:
        return self.spec.proxies[0] if self.spec.proxies else ""

    def conclude(self, lease: Lease, answer: Exchange | Failure) -> Ending:
        """What a fetch means: the page and its links, a redirect, another try, or the end of it."""
        outcome = verdict(answer)
        if isinstance(answer, Exchange) and "set-cookie" in answer.headers:
            self.cookies_changed = True
        if outcome is Outcome.DONE and isinstance(answer, Exchange):
            return self._page(lease, answer)
        if outcome is Outcome.REDIRECT and isinstance(answer, Exchange):
            return self._redirect(lease, answer)
        kind, status, detail = described(answer)
        if outcome is Outcome.DROP:
            return ending.drop(lease, kind, detail)
        if outcome is Outcome.RETRY and lease.attempt < self.spec.retries:
            return ending.retry(lease, kind, status, retry_wait_s(lease.attempt))
        return ending.dead(lease, kind, status, detail)

    def _page(self, lease: Lease, answer: Exchange) -> Ending:
        record = page_record(lease, answer)
        completion = Completion(lease.token, Outcome.DONE, bytes=len(answer.raw))
        done = Ending(lease, completion, record)
        if 200 <= answer.status < 300 and record.content_type in HTML_TYPES and lease.trail.callback != SITEMAP:
            self._extract(done, record, answer)
        return done

    def _extract(self, done: Ending, record: PageRecord, answer: Exchange) -> None:
        robots = self.spec.politeness.robots
        header_robots = "\n".join(answer.headers.get_all("x-robots-tag"))
        reading = read(to_utf8(answer.body, answer.headers.get("content-type")), header_robots, obey=robots)
        links = self._resolver.resolve(record.url, reading.hrefs, reading.base)
        add_skips(done, {"nofollow": reading.nofollowed, **links.skipped})
        record.title, record.canonical = reading.title, reading.canonical
        if not (reading.noindex and robots):
            record.content = PageContent(reading.description, reading.language, reading.raw_text(), links.urls)
        depth = record.depth + 1
        if self.spec.limits.depth is not None and depth > self.spec.limits.depth:
            add_skips(done, {"too_deep": len(links.targets)})
        elif links.targets:
            done.offers.append(Offer(record.job, links.targets, Trail(depth=depth, parent=record.fingerprint)))

    def sitemap_offers(self, done: Ending, answer: Exchange) -> Iterator[Offer]:
        """What a sitemap lists, in parts that can be offered one by one. Its pages are as near as seeds."""
        lease, sitemap = done.lease, Sitemap(answer.body)
        nesting = len(lease.trail.chain)
        entries = iter(sitemap)
        while part := list(islice(entries, OFFERED_AT_ONCE)):
            pages = self._resolver.resolve(lease.target.url, [entry.url for entry in part if entry.kind == "url"])
            add_skips(done, pages.skipped)
            yield Offer(lease.job, pages.targets, Trail(parent=lease.target.fingerprint))
            maps = [entry.url for entry in part if entry.kind == "sitemap"]
            if maps and nesting < SITEMAP_NESTING:
                yield self.sitemap_offer(maps, lease)
        if sitemap.fault is not None:
            done.failed = ("sitemap", answer.status)

    def sitemap_offer(self, urls: Iterable[str], parent: Lease | None = None) -> Offer:
        """Sitemaps themselves need not be in scope: a robots.txt or an index that is vouches for them."""
        targets = []
        for url in urls:
            try:
                targets.append(target(url, self.params, self.spec.politeness.group))
            except InvalidURL:
                continue
        chain = (*parent.trail.chain, parent.target.fingerprint) if parent else ()
        return Offer(self.job, targets, Trail(priority=1, callback=SITEMAP, chain=chain))

    def _redirect(self, lease: Lease, answer: Exchange) -> Ending:
        here, trail = lease.target, lease.trail
        try:
            there = target(answer.location or "", self.params, self.spec.politeness.group)
        except InvalidURL as error:
            return self._redirect_ending(lease, answer, None, error.reason)
        chain = (*trail.chain, here.fingerprint)
        if (
            there.fingerprint == here.fingerprint
            and here.fingerprint not in trail.chain
            and "set-cookie" in answer.headers
        ):
            completion = Completion(lease.token, Outcome.RETRY, trail=replace(trail, chain=chain), counted=False)
            return Ending(lease, completion)
        if there.fingerprint in chain:
            return ending.dead(lease, "redirect_loop", answer.status, f"leads back to {there.url}")
        if len(chain) > MAX_HOPS:
            return ending.dead(lease, "too_many_redirects", answer.status, f"more than {MAX_HOPS} hops")
        refusal = self._redirect_refusal(there, trail)
        if refusal is not None:
            return self._redirect_ending(lease, answer, there, refusal)
        redirected = self._redirect_ending(lease, answer, there, None)
        redirected.offers.append(Offer(lease.job, [there], replace(trail, chain=chain)))
        return redirected

    def _redirect_refusal(self, there: Target, trail: Trail) -> str | None:
        refusal = self.scope.refusal(there.url)
        if refusal == "off_scope" and self.spec.scope is ScopeKind.LISTED:
            refusal = None
        if refusal == "off_scope" and trail.parent is None:
            self.scope.admit(there.url)
            self.newly_admitted.append(there.url)
            refusal = self.scope.refusal(there.url)
        return refusal or ("trap" if trap(there.url) else None)

    def _redirect_ending(self, lease: Lease, answer: Exchange, there: Target | None, refusal: str | None) -> Ending:
        record = RedirectRecord(
            job=lease.job,
            fingerprint=lease.target.fingerprint,
            token=lease.token,
            url=lease.target.url,
            host=lease.target.host,
            status=answer.status,
            depth=lease.trail.depth,
            parent=lease.trail.parent,
            target=there.url if there else (answer.location or ""),
            target_fingerprint=there.fingerprint if there and refusal is None else None,
            reason=refusal,
            fetched_at=answer.started_at,
        )
        skips = {refusal: 1} if refusal else {}
        return Ending(lease, Completion(lease.token, Outcome.REDIRECT), record, skips=skips)


def add_skips(done: Ending, more: dict[str, int]) -> None:
    for reason, n in more.items():
        if n:
            done.skips[reason] = done.skips.get(reason, 0) + n


def described(answer: Exchange | Failure) -> tuple[str, int | None, str]:
    """Kind, status and words for a person."""
    if isinstance(answer, Failure):
        return answer.kind.value, None, answer.detail
    return "http", answer.status, f"answered {answer.status} {answer.reason}".rstrip()


def page_record(lease: Lease, answer: Exchange) -> PageRecord:
    return PageRecord(
        job=lease.job,
        fingerprint=lease.target.fingerprint,
        token=lease.token,
        url=lease.target.url,
        host=lease.target.host,
        status=answer.status,
        depth=lease.trail.depth,
        parent=lease.trail.parent,
        content_type=answer.headers.get("content-type").partition(";")[0].strip().lower(),
        bytes=len(answer.body),
        digest="sha256:" + hashlib.sha256(answer.body).hexdigest(),
        attempts=lease.attempt + 1,
        duration_ms=round(answer.latency_s * 1000),
        fetched_at=answer.started_at,
        etag=answer.headers.get("etag") or None,
        last_modified=answer.headers.get("last-modified") or None,
    )
