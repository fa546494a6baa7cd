"""What an answer means: a page and what it leads to, a redirect, another try, or the end of it."""

from __future__ import annotations

import asyncio

from shoal.engine import ending
from shoal.engine.aside import JobReaders, Unread
from shoal.engine.ending import Ending, add_links, add_refusal, add_skips
from shoal.engine.policy import MAX_HOPS, retry_wait_s, verdict
from shoal.engine.reading import BIG_BYTES, Ask, PageRead, read_page, read_part
from shoal.engine.refresh import CONDITION_REFUSED, HTML_TYPES, NOT_MODIFIED, Known
from shoal.engine.settler import OFFERED_AT_ONCE
from shoal.engine.validators import entity_tag, modified_at
from shoal.engine.work import SITEMAP, Work
from shoal.errors import InvalidURL
from shoal.fetch.exchange import Exchange, Failure, FailureKind
from shoal.model import (
    LAST,
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
from shoal.store.archive.warc import digest
from shoal.store.earlier import EarlierPage
from shoal.urls import left_out
from shoal.urls.canonical import MAX_CHARS
from shoal.urls.resolve import Link, PageLinks, targets_of

RESOLVED_AT_ONCE = 200
"""Links of a big page: one not met before takes 6 to 20 us, and all other hosts wait for so many."""

MOST_KEPT = 4 * MAX_CHARS
"""Characters of a link as it is written. What is longer leads nowhere: a picture in a data: URL."""


def is_big(work: Work, answer: Exchange | Failure) -> bool:
    """Whether its host waits until it is read. Where formats or items are asked for, the job waits by itself."""
    plain = work.callbacks is None and not work.spec.formats
    return isinstance(answer, Exchange) and len(answer.body) > BIG_BYTES and plain


async def conclude(
    work: Work, lease: Lease, answer: Exchange | Failure, known: Known | None, readers: JobReaders
) -> Ending:
    """Raises Unread of a page that cannot be read, and GivenUp of one that was not."""
    outcome = verdict(answer)
    if isinstance(answer, Exchange) and "set-cookie" in answer.headers:
        work.cookies_changed = True
        work.jar.unseen_bytes += len(answer.head)
    if outcome is Outcome.DONE and isinstance(answer, Exchange):
        return await _page(work, lease, answer, known, readers)
    if outcome is Outcome.REDIRECT and isinstance(answer, Exchange):
        return _redirect(work, lease, answer)
    kind, status, detail = described(answer)
    if outcome is Outcome.DROP:
        return ending.drop(lease, kind, detail)
    if outcome is Outcome.RETRY:
        return _failed(work, lease, kind, status, detail)
    return ending.dead(lease, kind, status, detail)


def _failed(work: Work, lease: Lease, kind: str, status: int | None, detail: str) -> Ending:
    if lease.attempt < work.spec.retries:
        # What timed out may hold a place of its host for as long again: whatever was not tried yet goes first.
        trail = lease.trail._replace(priority=LAST) if kind == FailureKind.TIMEOUT else None
        return ending.retry(lease, kind, status, retry_wait_s(lease.attempt), trail=trail)
    return ending.dead(lease, kind, status, detail)


async def _page(work: Work, lease: Lease, answer: Exchange, known: Known | None, readers: JobReaders) -> Ending:
    standing = known.page if known is not None and known.reusable else None
    if standing is not None and answer.status in CONDITION_REFUSED:
        return _once_more(lease)
    if answer.status == NOT_MODIFIED and standing is None and not work.asks_on_conditions:
        detail = f"answered {answer.status} {answer.reason}, but was not asked whether the page changed"
        return _failed(work, lease, "http", answer.status, detail)
    record = page_record(lease, answer)
    if known is not None:
        record.changed = record.digest != known.page.digest
    done = Ending(lease, Completion(lease.token, Outcome.DONE, bytes=len(answer.raw)), record)
    if answer.fault is not None:
        done.failed, done.why = ("broken_coding", answer.status), answer.fault
        # A refresh that asks by them would keep the part for as long as the page stays the same.
        record.etag = record.last_modified = None
    if answer.status == NOT_MODIFIED and standing is not None:
        _carry_over(work, done, record, standing)
        return done
    if not 200 <= answer.status < 300 or lease.trail.callback == SITEMAP:
        return done
    if work.callbacks is not None:
        if work.spec.text_beside_items:
            await _keep_content(work, done, record, answer, readers)
        return await work.callbacks.conclude(work, done, record, answer, readers)
    if record.content_type in HTML_TYPES:
        await _extract(work, done, record, answer, readers)
    return done


async def _keep_content(work: Work, done: Ending, record: PageRecord, answer: Exchange, readers: JobReaders) -> None:
    """Beside what is taken of the page; its links are kept and not followed. A big page is passed over."""
    if record.content_type in HTML_TYPES and len(answer.body) <= BIG_BYTES:
        try:
            page = await _read(_ask(work, record, answer), answer, readers)
        except Unread as error:
            # The items may be read all the same.
            done.failed, done.why = ("format_missing", answer.status), str(error)
            return
        _note_missing(done, page, answer)
        links = work.resolver.resolve(record.url, page.hrefs, page.base) if page.base else None
        record.content = _content(page, links)


async def _read(ask: Ask, answer: Exchange, readers: JobReaders) -> PageRead:
    """Here only what takes no longer than its size says."""
    if len(answer.body) <= BIG_BYTES and not (ask.formats and ask.keep_text):
        return read_page(ask, answer.body)
    # It may wait a while, and need not hold more than will be read of it.
    answer.body = read_part(answer.body)
    return await readers.page(ask, answer.body)


def _note_missing(done: Ending, page: PageRead, answer: Exchange) -> None:
    """The page is kept without a format that could not be made, and counted among the job's errors."""
    for name, why in page.missing.items():
        done.failed, done.why = ("format_missing", answer.status), f"{name}: {why}"
        break


def _ask(work: Work, record: PageRecord, answer: Exchange) -> Ask:
    header_robots = "\n".join(answer.headers.get_all("x-robots-tag"))
    spoken = answer.headers.get("content-type")
    spec = work.spec
    return Ask(record.url, spoken, header_robots, work.token, spec.politeness.robots, spec.text, spec.formats)


async def _extract(work: Work, done: Ending, record: PageRecord, answer: Exchange, readers: JobReaders) -> None:
    is_long = len(answer.body) > BIG_BYTES
    page = await _read(_ask(work, record, answer), answer, readers)
    links = await _resolved_in_parts(work, done, page) if is_long else _resolved(work, done, page, page.hrefs)
    _note_missing(done, page, answer)
    add_skips(done, {"nofollow": page.nofollowed, "too_many_links": page.beyond})
    record.title, record.canonical = page.title, page.canonical
    record.content = _content(page, links if page.base else None)
    _follow(work, done, record, links)


def _content(page: PageRead, against_base: PageLinks | None) -> PageContent | None:
    if page.text is None:
        return None
    # As they stand, where they hang on no more than the page's URL: a crawl writes them once, and most are never read.
    hrefs = against_base.urls if against_base else [href for href in page.hrefs if len(href) <= MOST_KEPT]
    missing = {"missing": page.missing} if page.missing else {}
    return PageContent(page.description, page.language, page.text, hrefs, page.formats | missing)


def _resolved(work: Work, done: Ending, page: PageRead, hrefs: list[str]) -> PageLinks:
    # All of them where they are kept resolved, or are too deep and count whether or not the frontier has them.
    only_new = not page.base and not work.is_too_deep(done.lease.trail.depth + 1)
    found = work.resolver.resolve(done.lease.target.url, hrefs, page.base, only_new=only_new)
    add_links(done, found)
    return found


async def _resolved_in_parts(work: Work, done: Ending, page: PageRead) -> PageLinks:
    """Here, where the scope and the memory of links are, but not all at once."""
    links: list[Link] = []
    fresh: dict[Link, None] = {}
    for start in range(0, len(page.hrefs), RESOLVED_AT_ONCE):
        part = _resolved(work, done, page, page.hrefs[start : start + RESOLVED_AT_ONCE])
        links += part.links
        fresh.update(dict.fromkeys(part.fresh))
        await asyncio.sleep(0)
    # What is skipped has been counted part by part.
    return PageLinks(links, list(fresh), {}, {})


def _carry_over(work: Work, done: Ending, record: PageRecord, earlier: EarlierPage) -> None:
    """The page is as it was: what was read of it then is what it says and leads to now."""
    record.changed = False
    record.digest, record.content_type, record.archive = earlier.digest, earlier.content_type, earlier.archive
    record.title, record.canonical = earlier.title, earlier.canonical
    record.etag = record.etag or earlier.etag
    record.last_modified = record.last_modified or earlier.last_modified
    record.tdm_reservation = record.tdm_reservation or earlier.tdm_reservation
    record.tdm_policy = record.tdm_policy or earlier.tdm_policy
    record.content = earlier.packed
    content = earlier.content()
    if content is not None:
        found = work.resolver.resolve(record.url, content.hrefs)
        add_links(done, found)
        _follow(work, done, record, found)


def _follow(work: Work, done: Ending, record: PageRecord, links: PageLinks) -> None:
    if work.is_too_deep(record.depth + 1):
        add_skips(done, {"too_deep": len(links.targets)})
        return
    if not links.fresh:
        return
    done.links = links.fresh
    targets = targets_of(links.fresh)
    trail = Trail(depth=record.depth + 1, parent=record.fingerprint)
    for start in range(0, len(targets), OFFERED_AT_ONCE):
        done.offers.append(Offer(record.job, targets[start : start + OFFERED_AT_ONCE], trail))


def _redirect(work: Work, lease: Lease, answer: Exchange) -> Ending:
    here, trail = lease.target, lease.trail
    try:
        there = work.target(answer.location or "")
    except InvalidURL as error:
        return _redirect_ending(lease, answer, None, error.reason)
    chain = (*trail.chain, here.fingerprint)
    if there.fingerprint == here.fingerprint and here.fingerprint not in trail.chain and "set-cookie" in answer.headers:
        return _once_more(lease)
    if there.fingerprint in chain:
        return ending.dead(lease, "redirect_loop", answer.status, _loop(work, there, answer.location or ""))
    if len(chain) > MAX_HOPS:
        return ending.dead(lease, "too_many_redirects", answer.status, f"more than {MAX_HOPS} hops")
    refusal = _redirect_refusal(work, there, trail)
    redirected = _redirect_ending(lease, answer, there, refusal)
    if refusal is None:
        redirected.offers.append(Offer(lease.job, [there], trail._replace(chain=chain)))
    return redirected


def _once_more(lease: Lease) -> Ending:
    """No attempt that failed. That it was asked before is known by its own fingerprint in the chain."""
    trail = lease.trail._replace(chain=(*lease.trail.chain, lease.target.fingerprint))
    return Ending(lease, Completion(lease.token, Outcome.RETRY, trail=trail, counted=False))


def _loop(work: Work, there: Target, location: str) -> str:
    """A site that wants its session id in every URL sends back whoever comes without."""
    missing = ",".join(left_out(location, work.params))
    insists = f", but with {missing}, which is left out of URLs unless --keep-params {missing} keeps it"
    return f"leads back to {there.url}{insists if missing else ''}"


def _redirect_refusal(work: Work, there: Target, trail: Trail) -> str | None:
    refusal = work.scope.refusal(there.url)
    if refusal == "off_scope" and work.spec.scope is ScopeKind.LISTED:
        refusal = "excluded" if work.scope.excludes(there.url) else None
    is_seed = trail.parent is None and trail.callback != SITEMAP
    if refusal == "off_scope" and is_seed:
        work.admit(there.url)
        refusal = work.scope.refusal(there.url)
    if refusal or is_seed:
        # What was given to the job is fetched wherever it has moved to, whatever that looks like.
        return refusal
    trap = work.resolver.trap(there.url)
    return trap.reason if trap else None


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
    redirected = Ending(lease, Completion(lease.token, Outcome.REDIRECT), record)
    if refusal:
        add_refusal(redirected, refusal, record.target)
    return redirected


def described(answer: Exchange | Failure) -> tuple[str, int | None, str]:
    """Kind, status and words for a person."""
    if isinstance(answer, Failure):
        return answer.kind.value, None, answer.detail
    return "http", answer.status, f"answered {answer.status} {answer.reason}".rstrip()


def content_type_of(answer: Exchange) -> str:
    """As it says, or where it says nothing sensible, by its first byte. Some servers and proxies say it twice."""
    said = answer.headers.get("content-type").partition(";")[0].partition(",")[0].strip().lower()
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
        digest=answer.body_digest or digest(answer.body),
        attempts=lease.attempt + 1,
        duration_ms=round(answer.latency_s * 1000),
        fetched_at=answer.started_at,
        etag=entity_tag(answer.headers.get("etag")),
        last_modified=modified_at(answer.headers.get("last-modified"), answer.started_at),
        tdm_reservation=answer.headers.get("tdm-reservation") or None,
        tdm_policy=answer.headers.get("tdm-policy") or None,
    )
