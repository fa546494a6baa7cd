"""Reads an HTML page for its record: title, text, formats and links. Links that the job follows become offers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from shoal.engine.active_job import ActiveJob
from shoal.engine.readers.pool import JobReaders
from shoal.engine.readers.reader_client import ReadFailed
from shoal.engine.reading.page_record import robots_header
from shoal.engine.reading.page_worth import FOUND_BY, learn_from_page, worth_of_page
from shoal.engine.reading.parse_page import BIG_BYTES, ParsedPage, ParseRequest, is_read_here, read_page, truncate_body
from shoal.engine.request_result import OFFERED_AT_ONCE, RequestResult, add_links, add_skips
from shoal.extract.html_tags import HTML_TYPES
from shoal.extract.page import PageHead
from shoal.fetch.exchange import Exchange
from shoal.model import FoundContent, Offer, PageRecord, Trail
from shoal.urls.canonical import MAX_CHARS
from shoal.urls.resolve_links import Link, PageLinks, targets_of

RESOLVED_AT_ONCE = 1_000
"""Links of a page that are resolved at a time. A new link takes 6 to 20 us, while all other hosts wait."""
MOST_KEPT = 4 * MAX_CHARS
"""Maximum length of a stored link. Longer ones are not pages: for example a picture in a data: URL."""


async def read_html(
    active_job: ActiveJob, done: RequestResult, record: PageRecord, answer: Exchange, readers: JobReaders
) -> None:
    page = await _parse(_parse_request(active_job, record, answer), answer, readers)
    links = (
        await _resolve_in_parts(active_job, done, page)
        if len(page.hrefs) > RESOLVED_AT_ONCE
        else _resolve(active_job, done, page, page.hrefs)
    )
    _note_missing(done, page, answer)
    add_skips(done, {"nofollow": page.nofollowed, "link_type": page.for_programs, "too_many_links": page.beyond})
    canonical = apply_page_head(active_job, record, page.head)
    record.content = _content(page, links if page.head.base else None)
    found_by = learn_from_page(active_job, done.lease, worth_of_page(active_job, record, canonical, page))
    follow_links(active_job, done, record, links, found_by)


async def keep_content(
    active_job: ActiveJob, done: RequestResult, record: PageRecord, answer: Exchange, readers: JobReaders
) -> None:
    """Stores the page's content in addition to its items. Its links are stored and not followed. Skips a big page."""
    if record.content_type in HTML_TYPES and len(answer.body) <= BIG_BYTES:
        try:
            page = await _parse(_parse_request(active_job, record, answer), answer, readers)
        except ReadFailed as error:
            # The items may still be readable.
            done.failed, done.why = ("format_missing", answer.status), str(error)
            return
        _note_missing(done, page, answer)
        links = active_job.resolver.resolve(record.url, page.hrefs, page.head.base) if page.head.base else None
        record.content = _content(page, links)


async def _parse(ask: ParseRequest, answer: Exchange, readers: JobReaders) -> ParsedPage:
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


def _parse_request(active_job: ActiveJob, record: PageRecord, answer: Exchange) -> ParseRequest:
    spoken = answer.headers.get("content-type")
    spec = active_job.spec
    obeyed = spec.politeness.robots, spec.politeness.obeys_nofollow
    return ParseRequest(record.url, spoken, robots_header(answer), active_job.token, *obeyed, spec.text, spec.formats)


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


def _resolve(active_job: ActiveJob, done: RequestResult, page: ParsedPage, hrefs: list[str]) -> PageLinks:
    # All links if they are stored resolved, or are too deep and counted whether or not the frontier has them.
    only_new = not page.head.base and not active_job.is_too_deep(done.lease.trail.depth + 1)
    found = active_job.resolver.resolve(done.lease.target.url, hrefs, page.head.base, only_new=only_new)
    add_links(done, found)
    return found


async def _resolve_in_parts(active_job: ActiveJob, done: RequestResult, page: ParsedPage) -> PageLinks:
    """Resolves here, where the scope and the recent links are, but in parts."""
    links: list[Link] = []
    fresh: dict[Link, None] = {}
    for start in range(0, len(page.hrefs), RESOLVED_AT_ONCE):
        part = _resolve(active_job, done, page, page.hrefs[start : start + RESOLVED_AT_ONCE])
        links += part.links
        fresh.update(dict.fromkeys(part.fresh))
        await asyncio.sleep(0)
    # Skipped links were counted part by part.
    return PageLinks(links, list(fresh), {}, {})


def follow_links(
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
