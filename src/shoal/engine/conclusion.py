"""What an answer means: a page and what it leads to, a redirect, another try, or the end of it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from shoal.engine import ending
from shoal.engine.ending import Ending, add_skips
from shoal.engine.policy import MAX_HOPS, retry_wait_s, verdict
from shoal.engine.refresh import HTML_TYPES, NOT_MODIFIED, Known
from shoal.engine.work import SITEMAP, Work
from shoal.errors import InvalidURL
from shoal.extract.formats import formatted
from shoal.extract.page import read
from shoal.fetch.charset import to_utf8
from shoal.fetch.exchange import Exchange, Failure
from shoal.model import (
    Completion,
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
from shoal.store.earlier import EarlierPage
from shoal.urls import trap


async def conclude(work: Work, lease: Lease, answer: Exchange | Failure, known: Known | None) -> Ending:
    outcome = verdict(answer)
    if isinstance(answer, Exchange) and "set-cookie" in answer.headers:
        work.cookies_changed = True
    if outcome is Outcome.DONE and isinstance(answer, Exchange):
        return await _page(work, lease, answer, known)
    if outcome is Outcome.REDIRECT and isinstance(answer, Exchange):
        return _redirect(work, lease, answer)
    kind, status, detail = described(answer)
    if outcome is Outcome.DROP:
        return ending.drop(lease, kind, detail)
    if outcome is Outcome.RETRY and lease.attempt < work.spec.retries:
        return ending.retry(lease, kind, status, retry_wait_s(lease.attempt))
    return ending.dead(lease, kind, status, detail)


async def _page(work: Work, lease: Lease, answer: Exchange, known: Known | None) -> Ending:
    record = page_record(lease, answer)
    if known is not None:
        record.changed = record.digest != known.page.digest
    done = Ending(lease, Completion(lease.token, Outcome.DONE, bytes=len(answer.raw)), record)
    if answer.status == NOT_MODIFIED and known is not None and known.reusable:
        _carry_over(work, done, record, known.page)
        return done
    if not 200 <= answer.status < 300 or lease.trail.callback == SITEMAP:
        return done
    if work.callbacks is not None:
        return await work.callbacks.conclude(work, done, record, answer)
    if record.content_type in HTML_TYPES:
        _extract(work, done, record, answer)
    return done


def _extract(work: Work, done: Ending, record: PageRecord, answer: Exchange) -> None:
    robots = work.spec.politeness.robots
    header_robots = "\n".join(answer.headers.get_all("x-robots-tag"))
    html = to_utf8(answer.body, answer.headers.get("content-type"))
    reading = read(html, header_robots, obey=robots)
    links = work.resolver.resolve(record.url, reading.hrefs, reading.base)
    add_skips(done, {"nofollow": reading.nofollowed, **links.skipped})
    record.title, record.canonical = reading.title, reading.canonical
    if not (reading.noindex and robots):
        formats = formatted(html, record.url, work.spec.formats) if work.spec.formats else {}
        record.content = PageContent(reading.description, reading.language, reading.raw_text(), links.urls, formats)
    _follow(work, done, record, links.targets)


def _carry_over(work: Work, done: Ending, record: PageRecord, earlier: EarlierPage) -> None:
    """The page is as it was: what was read of it then is what it says and leads to now."""
    record.changed = False
    record.digest, record.content_type = earlier.digest, earlier.content_type
    record.title, record.canonical = earlier.title, earlier.canonical
    record.etag = record.etag or earlier.etag
    record.last_modified = record.last_modified or earlier.last_modified
    record.content = earlier.content()
    if record.content is not None:
        links = work.resolver.resolve(record.url, record.content.links)
        add_skips(done, links.skipped)
        _follow(work, done, record, links.targets)


def _follow(work: Work, done: Ending, record: PageRecord, targets: list[Target]) -> None:
    if work.is_too_deep(record.depth + 1):
        add_skips(done, {"too_deep": len(targets)})
    elif targets:
        trail = Trail(depth=record.depth + 1, parent=record.fingerprint)
        done.offers.append(Offer(record.job, targets, trail))


def _redirect(work: Work, lease: Lease, answer: Exchange) -> Ending:
    here, trail = lease.target, lease.trail
    try:
        there = work.target(answer.location or "")
    except InvalidURL as error:
        return _redirect_ending(lease, answer, None, error.reason)
    chain = (*trail.chain, here.fingerprint)
    if there.fingerprint == here.fingerprint and here.fingerprint not in trail.chain and "set-cookie" in answer.headers:
        completion = Completion(lease.token, Outcome.RETRY, trail=replace(trail, chain=chain), counted=False)
        return Ending(lease, completion)
    if there.fingerprint in chain:
        return ending.dead(lease, "redirect_loop", answer.status, f"leads back to {there.url}")
    if len(chain) > MAX_HOPS:
        return ending.dead(lease, "too_many_redirects", answer.status, f"more than {MAX_HOPS} hops")
    refusal = _redirect_refusal(work, there, trail)
    redirected = _redirect_ending(lease, answer, there, refusal)
    if refusal is None:
        redirected.offers.append(Offer(lease.job, [there], replace(trail, chain=chain)))
    return redirected


def _redirect_refusal(work: Work, there: Target, trail: Trail) -> str | None:
    refusal = work.scope.refusal(there.url)
    if refusal == "off_scope" and work.spec.scope is ScopeKind.LISTED:
        refusal = "excluded" if work.scope.excludes(there.url) else None
    if refusal == "off_scope" and trail.parent is None and trail.callback != SITEMAP:
        work.admit(there.url)
        refusal = work.scope.refusal(there.url)
    return refusal or ("trap" if trap(there.url) else None)


def _redirect_ending(lease: Lease, answer: Exchange, there: Target | None, refusal: str | None) -> Ending:
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


def described(answer: Exchange | Failure) -> tuple[str, int | None, str]:
    """Kind, status and words for a person."""
    if isinstance(answer, Failure):
        return answer.kind.value, None, answer.detail
    return "http", answer.status, f"answered {answer.status} {answer.reason}".rstrip()


def content_type_of(answer: Exchange) -> str:
    """As it says, or where it says nothing sensible, by its first byte."""
    said = answer.headers.get("content-type").partition(";")[0].strip().lower()
    if "/" in said:
        return said
    return "text/html" if answer.body[:512].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<" else said


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
        content_type=content_type_of(answer),
        bytes=len(answer.body),
        digest="sha256:" + hashlib.sha256(answer.body).hexdigest(),
        attempts=lease.attempt + 1,
        duration_ms=round(answer.latency_s * 1000),
        fetched_at=answer.started_at,
        etag=answer.headers.get("etag") or None,
        last_modified=answer.headers.get("last-modified") or None,
    )
