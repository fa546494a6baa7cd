"""Pages that an earlier job has: what a 304 takes over of them, and how one that changed differs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from shoal.engine import request_result
from shoal.engine.active_job import ActiveJob
from shoal.engine.readers.pool import JobReaders
from shoal.engine.reading.asset_requests import offer_assets
from shoal.engine.reading.conditional_recrawl import KnownPage
from shoal.engine.reading.read_html import follow_links, keep_content
from shoal.engine.request_result import RequestResult, add_links
from shoal.extract.html_tags import WITH_ASSETS
from shoal.model import FoundContent, PageRecord

if TYPE_CHECKING:
    from shoal.store.crawl.earlier_pages import EarlierPage


async def unchanged_page(
    active_job: ActiveJob, done: RequestResult, record: PageRecord, earlier: EarlierPage, readers: JobReaders
) -> RequestResult:
    """The callback gets the archived page: its code may have changed, so its items are not those of the last time.
    The page's assets are found there too."""
    _carry_over(record, earlier)
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
        await offer_assets(active_job, done, record, archived)
    if active_job.callbacks is None or is_asset:
        _carry_content(active_job, done, record, earlier)
        return done
    if active_job.spec.text_beside_items:
        await keep_content(active_job, done, record, archived, readers)
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
        follow_links(active_job, done, record, found)


async def note_change(record: PageRecord, known: KnownPage) -> None:
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
