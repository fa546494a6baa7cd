"""Decides what a response means: a page with links, a redirect, a retry, or a dead letter."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from shoal.engine import request_result
from shoal.engine.active_job import SITEMAP, ActiveJob, session_of
from shoal.engine.readers.pool import JobReaders, ReadFailed
from shoal.engine.reading.conditional_recrawl import CONDITION_REFUSED, NOT_MODIFIED, KnownPage
from shoal.engine.reading.http_validators import entity_tag, modified_at
from shoal.engine.reading.page_worth import FOUND_BY, GONE, learn_from_page, worth_of_page
from shoal.engine.reading.parse_page import BIG_BYTES, ParsedPage, ParseRequest, is_read_here, read_page, truncate_body
from shoal.engine.reading.redirects import follow_redirect
from shoal.engine.reading.retry_policy import retry_wait_s, verdict
from shoal.engine.reading.sitemap_requests import listing_of
from shoal.engine.reading.unwanted_types import drop_unwanted
from shoal.engine.request_result import OFFERED_AT_ONCE, Listing, RequestResult, add_links, add_skips
from shoal.engine.shape_statistics import Worth
from shoal.extract.html_tags import HTML_TYPES, WITH_ASSETS
from shoal.extract.link_header import linked_as
from shoal.extract.page import PageHead
from shoal.extract.robots_directives import robots_of_header
from shoal.fetch.exchange import Exchange, Failure, FailureKind
from shoal.model import (
    LAST,
    Canonical,
    Completion,
    FoundContent,
    Lease,
    Offer,
    Outcome,
    PageRecord,
    Render,
    Trail,
)
from shoal.model.request_options import identity_of
from shoal.store.archive.warc import digest
from shoal.store.crawl.save_batch import BROWSER
from shoal.urls import fingerprint
from shoal.urls.canonical import MAX_CHARS
from shoal.urls.resolve_links import Link, PageLinks, targets_of

if TYPE_CHECKING:
    from shoal.store.crawl.earlier_pages import EarlierPage

UNCHECKED = "http-insecure"
"""How a page of a job with --insecure was fetched."""

RESOLVED_AT_ONCE = 1_000
"""Links of a page that are resolved at a time. A new link takes 6 to 20 us, while all other hosts wait."""

MOST_KEPT = 4 * MAX_CHARS
"""Maximum length of a stored link. Longer ones are not pages: for example a picture in a data: URL."""


def is_big(active_job: ActiveJob, answer: Exchange | Failure) -> bool:
    """Whether its host waits until it is read. A job with formats or items waits by itself."""
    plain = active_job.callbacks is None and not active_job.spec.formats
    return isinstance(answer, Exchange) and not is_read_here(answer.body) and plain


async def interpret_response(
    active_job: ActiveJob, lease: Lease, answer: Exchange | Failure, known: KnownPage | None, readers: JobReaders
) -> RequestResult:
    """Raises ReadFailed if a page cannot be read, and ReadAbandoned if it was not read."""
    result = await _result(active_job, lease, answer, known, readers)
    if isinstance(answer, Exchange) and "set-cookie" in answer.headers and active_job.spec.use_cookies:
        _note_cookies(active_job, result, answer)
    if lease.trail.options is None or active_job.callbacks is None:
        return result
    return await active_job.callbacks.handle_failure(active_job, result, answer, readers)


def _note_cookies(active_job: ActiveJob, result: RequestResult, answer: Exchange) -> None:
    active_job.jars.note_change(session_of(result.lease), len(answer.head))
    hostname = urlsplit(result.lease.target.url).hostname or ""
    change = active_job.given_cookies.change(hostname, answer.headers.get_all("set-cookie"))
    if change is not None and result.failed is None:
        result.failed, result.why = (change.kind, answer.status), change.words


async def _result(
    active_job: ActiveJob, lease: Lease, answer: Exchange | Failure, known: KnownPage | None, readers: JobReaders
) -> RequestResult:
    if answer.wants_repeat and lease.trail.chain.count(lease.target.fingerprint) < 2:
        return request_result.again(lease)
    outcome = Outcome.DONE if is_wanted(lease, answer) else verdict(answer)
    if outcome is Outcome.DONE and isinstance(answer, Exchange):
        if unwanted := drop_unwanted(active_job, lease, answer):
            return unwanted
        decides = active_job.render_mode(lease) is Render.AUTO
        may_render = decides and answer.rendered is None
        may_give_up = may_render and active_job.auto_render.has_given_up
        is_lacking = may_render and active_job.auto_render.is_shell(lease, answer)
        if is_lacking and not may_give_up:
            return request_result.in_browser(lease)
        done = await _page(active_job, lease, answer, known, readers)
        is_lacking = is_lacking or (may_render and active_job.auto_render.lacks_items(lease, answer, done))
        if is_lacking and not may_give_up:
            return request_result.in_browser(lease)
        if is_lacking and done.failed is None:
            done.failed = request_result.NOT_RENDERED, answer.status
        if decides and answer.rendered is not None:
            active_job.auto_render.learn(lease, answer, done)
        if known is not None and isinstance(done.record, PageRecord):
            await _note_change(done.record, known)
        if active_job.spec.canonical is Canonical.MERGE:
            _set_merge_key(done)
        return done
    if outcome is Outcome.REDIRECT and isinstance(answer, Exchange):
        return follow_redirect(active_job, lease, answer)
    kind, status, detail = described(answer)
    if outcome is Outcome.DROP:
        return request_result.drop(lease, kind, detail)
    if outcome is Outcome.RETRY:
        return _failed(active_job, lease, kind, status, detail)
    return request_result.dead(lease, kind, status, detail)


def _apply_robots_header(active_job: ActiveJob, record: PageRecord, answer: Exchange) -> None:
    if "x-robots-tag" in answer.headers:
        asked = robots_of_header(_header_robots(answer), active_job.token)
        record.noindex, record.nofollow = asked.noindex, asked.nofollow
    if "link" in answer.headers:
        named = linked_as("canonical", ",".join(answer.headers.get_all("link")))
        record.canonical = active_job.resolver.link(record.url, named).url if named else None


def _header_robots(answer: Exchange) -> str:
    return "\n".join(answer.headers.get_all("x-robots-tag"))


async def _note_change(record: PageRecord, known: KnownPage) -> None:
    # Imported here only: few jobs compare with an earlier crawl.
    from shoal.model.content_change import NO, change_kind

    if not record.changed:
        record.change_kind = NO
        return
    earlier = known.page.content()
    before = earlier.text if earlier else None
    now = record.content.text.decode("utf-8", "replace") if isinstance(record.content, FoundContent) else None
    # In a thread: a long text takes 0.1 s.
    record.change_kind = await asyncio.to_thread(change_kind, True, before, now)


def _set_merge_key(done: RequestResult) -> None:
    """Pages that name no canonical URL are their own. Errors, sitemaps and assets are not merged."""
    record = done.record
    if not isinstance(record, PageRecord) or record.content_type not in HTML_TYPES:
        return
    if (200 <= record.status < 300 or record.status == NOT_MODIFIED) and done.lease.trail.callback[:1] != "#":
        identity = identity_of(done.lease.trail.options)
        record.merge_key = fingerprint(record.canonical, identity=identity) if record.canonical else record.fingerprint


def is_wanted(lease: Lease, answer: Exchange | Failure) -> bool:
    """Whether the request names the status of the answer, so that its callback gets the page."""
    options = lease.trail.options
    return options is not None and isinstance(answer, Exchange) and answer.status in options.statuses


def _failed(active_job: ActiveJob, lease: Lease, kind: str, status: int | None, detail: str) -> RequestResult:
    if lease.attempt < active_job.spec.retries:
        # A time-out may occupy a slot of its host for as long again, so requests that were not tried yet go first.
        trail = lease.trail._replace(priority=LAST) if kind == FailureKind.TIMEOUT else None
        return request_result.retry(lease, kind, status, retry_wait_s(lease.attempt), trail=trail)
    return request_result.dead(lease, kind, status, detail)


async def _page(
    active_job: ActiveJob, lease: Lease, answer: Exchange, known: KnownPage | None, readers: JobReaders
) -> RequestResult:
    reusable = known.page if known is not None and known.reusable else None
    if reusable is not None and answer.status in CONDITION_REFUSED:
        return request_result.again(lease)
    if answer.status == NOT_MODIFIED and reusable is None and not active_job.has_conditional_headers:
        detail = f"answered {answer.status} {answer.reason}, but the request was not conditional"
        return _failed(active_job, lease, "http", answer.status, detail)
    record = page_record(lease, answer)
    if active_job.spec.insecure and record.url.startswith("https:"):
        record.via = UNCHECKED
    if answer.rendered is not None:
        record.via = BROWSER
        # They are those of the document, which may stay the same while what its scripts load changes.
        record.etag = record.last_modified = None
    if answer.proxy:
        record.via = f"{record.via} via {answer.proxy}"
    _apply_robots_header(active_job, record, answer)
    if known is not None:
        record.changed = record.digest != known.page.digest
    done = RequestResult(lease, Completion(lease.token, Outcome.DONE, bytes=answer.wire_bytes), record)
    if answer.fault is not None:
        kind = "broken_coding" if answer.rendered is None else "unfinished"
        done.failed, done.why = (kind, answer.status), answer.fault
        # A refresh with these validators would keep the incomplete page for as long as the full one stays the same.
        record.etag = record.last_modified = None
    if answer.status == NOT_MODIFIED and reusable is not None:
        _carry_over(record, reusable)
        return await _unchanged(active_job, done, record, reusable, readers)
    is_good = 200 <= answer.status < 300
    if lease.trail.callback == SITEMAP:
        done.listing = Listing.SITEMAP if is_good else None
        return done
    if not is_good and not is_wanted(lease, answer):
        if answer.status in GONE:
            learn_from_page(active_job, lease, Worth.USELESS)
        return done
    if active_job.spec.assets:
        await _offer_assets(active_job, done, record, answer)
    if lease.trail.is_asset:
        return done
    if is_good and (listing := listing_of(active_job, lease, record.content_type, answer.body)):
        done.listing = listing
        return done
    if active_job.callbacks is not None:
        if active_job.spec.text_beside_items:
            await _keep_content(active_job, done, record, answer, readers)
        return await active_job.callbacks.interpret(active_job, done, record, answer, readers)
    if record.content_type in HTML_TYPES:
        await _extract(active_job, done, record, answer, readers)
    return done


async def _offer_assets(active_job: ActiveJob, done: RequestResult, record: PageRecord, answer: Exchange) -> None:
    # Imported here: it loads a parser that other jobs may not need.
    from shoal.engine.reading.asset_requests import offer_assets

    await offer_assets(active_job, done, record, answer)


async def _keep_content(
    active_job: ActiveJob, done: RequestResult, record: PageRecord, answer: Exchange, readers: JobReaders
) -> None:
    """Stores the page's content in addition to its items. Its links are stored and not followed. Skips a big page."""
    if record.content_type in HTML_TYPES and len(answer.body) <= BIG_BYTES:
        try:
            page = await _read(_ask(active_job, record, answer), answer, readers)
        except ReadFailed as error:
            # The items may still be readable.
            done.failed, done.why = ("format_missing", answer.status), str(error)
            return
        _note_missing(done, page, answer)
        links = active_job.resolver.resolve(record.url, page.hrefs, page.head.base) if page.head.base else None
        record.content = _content(page, links)


async def _read(ask: ParseRequest, answer: Exchange, readers: JobReaders) -> ParsedPage:
    """Formats take more time than the size of a page says."""
    # It may wait a while, so only the part that will be read stays in memory.
    answer.body = truncate_body(answer.body)
    if is_read_here(answer.body) and not (ask.formats and ask.keep_text):
        return read_page(ask, answer.body)
    return await readers.page(ask, answer.body)


def _note_missing(done: RequestResult, page: ParsedPage, answer: Exchange) -> None:
    """The page is stored without formats that could not be made, which count among the job's errors."""
    for name, why in page.missing.items():
        done.failed, done.why = ("format_missing", answer.status), f"{name}: {why}"
        break


def _ask(active_job: ActiveJob, record: PageRecord, answer: Exchange) -> ParseRequest:
    spoken = answer.headers.get("content-type")
    spec = active_job.spec
    obeyed = spec.politeness.robots, spec.politeness.obeys_nofollow
    return ParseRequest(record.url, spoken, _header_robots(answer), active_job.token, *obeyed, spec.text, spec.formats)


async def _extract(
    active_job: ActiveJob, done: RequestResult, record: PageRecord, answer: Exchange, readers: JobReaders
) -> None:
    page = await _read(_ask(active_job, record, answer), answer, readers)
    links = (
        await _resolved_in_parts(active_job, done, page)
        if len(page.hrefs) > RESOLVED_AT_ONCE
        else _resolved(active_job, done, page, page.hrefs)
    )
    _note_missing(done, page, answer)
    add_skips(done, {"nofollow": page.nofollowed, "link_type": page.for_programs, "too_many_links": page.beyond})
    canonical = apply_page_head(active_job, record, page.head)
    record.content = _content(page, links if page.head.base else None)
    found_by = learn_from_page(active_job, done.lease, worth_of_page(active_job, record, canonical, page))
    _follow(active_job, done, record, links, found_by)


def apply_page_head(active_job: ActiveJob, record: PageRecord, head: PageHead) -> Link | None:
    """Returns the link to the page's canonical URL, if it names one."""
    record.title = head.title
    canonical = None
    if head.canonical:
        canonical = active_job.resolver.link(record.url, head.canonical, head.base)
        record.canonical = canonical.url
    elif record.canonical:
        canonical = active_job.resolver.link(record.url, record.canonical)
    record.noindex, record.nofollow = record.noindex or head.noindex, record.nofollow or head.nofollow
    return canonical


def _content(page: ParsedPage, against_base: PageLinks | None) -> FoundContent | None:
    if page.text is None:
        return None
    # Unresolved, if they depend only on the page's URL: a crawl writes them once, and most are never read.
    hrefs = (
        against_base.urls if against_base else [href for href in dict.fromkeys(page.hrefs) if len(href) <= MOST_KEPT]
    )
    missing = {"missing": page.missing} if page.missing else {}
    return FoundContent(page.description, page.language, page.text, hrefs, page.formats | missing)


def _resolved(active_job: ActiveJob, done: RequestResult, page: ParsedPage, hrefs: list[str]) -> PageLinks:
    # All links if they are stored resolved, or are too deep and counted whether or not the frontier has them.
    only_new = not page.head.base and not active_job.is_too_deep(done.lease.trail.depth + 1)
    found = active_job.resolver.resolve(done.lease.target.url, hrefs, page.head.base, only_new=only_new)
    add_links(done, found)
    return found


async def _resolved_in_parts(active_job: ActiveJob, done: RequestResult, page: ParsedPage) -> PageLinks:
    """Resolves here, where the scope and the recent links are, but in parts."""
    links: list[Link] = []
    fresh: dict[Link, None] = {}
    for start in range(0, len(page.hrefs), RESOLVED_AT_ONCE):
        part = _resolved(active_job, done, page, page.hrefs[start : start + RESOLVED_AT_ONCE])
        links += part.links
        fresh.update(dict.fromkeys(part.fresh))
        await asyncio.sleep(0)
    # Skipped links were counted part by part.
    return PageLinks(links, list(fresh), {}, {})


async def _unchanged(
    active_job: ActiveJob, done: RequestResult, record: PageRecord, earlier: EarlierPage, readers: JobReaders
) -> RequestResult:
    """The callback gets the archived page: its code may have changed, so its items are not those of the last time.
    The page's assets are found there too."""
    is_asset = done.lease.trail.is_asset
    reads_assets = active_job.spec.assets and record.content_type in WITH_ASSETS
    if not reads_assets and (active_job.callbacks is None or is_asset):
        _carry_content(active_job, done, record, earlier)
        return done
    assert active_job.archived_responses is not None
    archived = await active_job.archived_responses.response(earlier, active_job.call(done.lease, None))
    if archived is None:
        return request_result.again(done.lease)
    if reads_assets:
        await _offer_assets(active_job, done, record, archived)
    if active_job.callbacks is None or is_asset:
        _carry_content(active_job, done, record, earlier)
        return done
    if active_job.spec.text_beside_items:
        await _keep_content(active_job, done, record, archived, readers)
    return await active_job.callbacks.interpret(active_job, done, record, archived, readers)


def _carry_over(record: PageRecord, earlier: EarlierPage) -> None:
    """The page is unchanged."""
    record.changed = False
    record.digest, record.content_type, record.archive = earlier.digest, earlier.content_type, earlier.archive
    record.title, record.canonical = earlier.title, earlier.canonical
    record.noindex = earlier.noindex if record.noindex is None else record.noindex
    record.nofollow = earlier.nofollow if record.nofollow is None else record.nofollow
    record.etag = record.etag or earlier.etag
    record.last_modified = record.last_modified or earlier.last_modified
    record.tdm_reservation = record.tdm_reservation or earlier.tdm_reservation
    record.tdm_policy = record.tdm_policy or earlier.tdm_policy


def _carry_content(active_job: ActiveJob, done: RequestResult, record: PageRecord, earlier: EarlierPage) -> None:
    """Its stored content and links apply."""
    record.content = earlier.packed
    content = earlier.content()
    if content is not None:
        found = active_job.resolver.resolve(record.url, content.hrefs)
        add_links(done, found)
        _follow(active_job, done, record, found)


def _follow(
    active_job: ActiveJob, done: RequestResult, record: PageRecord, links: PageLinks, found_by: Sequence[str] = ()
) -> None:
    if active_job.is_too_deep(record.depth + 1):
        add_skips(done, {"too_deep": len(links.targets)})
        return
    if not links.fresh:
        return
    done.links = links.fresh
    targets = targets_of(links.fresh)
    meta = {FOUND_BY: list(found_by)} if found_by else None
    trail = Trail(depth=record.depth + 1, parent=record.fingerprint, meta=meta)
    for start in range(0, len(targets), OFFERED_AT_ONCE):
        done.offers.append(Offer(record.job, targets[start : start + OFFERED_AT_ONCE], trail))


def described(answer: Exchange | Failure) -> tuple[str, int | None, str]:
    """Kind, status and a text for a person."""
    if isinstance(answer, Failure):
        return answer.kind.value, None, answer.detail
    return "http", answer.status, f"answered {answer.status} {answer.reason}".rstrip()


def content_type_of(answer: Exchange) -> str:
    """The declared type, or text/html by the first byte if none is declared. Some servers and proxies send it twice."""
    declared = answer.headers.get("content-type").partition(";")[0].partition(",")[0].strip().lower()
    if "/" in declared:
        return declared
    return "text/html" if answer.body[:512].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<" else declared


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
        is_asset=lease.trail.is_asset,
        session=session_of(lease) or None,
        etag=entity_tag(answer.headers.get("etag")),
        last_modified=modified_at(answer.headers.get("last-modified"), answer.started_at),
        tdm_reservation=answer.headers.get("tdm-reservation") or None,
        tdm_policy=answer.headers.get("tdm-policy") or None,
    )
