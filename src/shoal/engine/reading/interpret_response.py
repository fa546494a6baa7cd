"""Decides what a response means: a page with links, a redirect, a retry, or a dead letter."""

from __future__ import annotations

from urllib.parse import urlsplit

from shoal.engine import request_result
from shoal.engine.active_job import SITEMAP, ActiveJob, session_of
from shoal.engine.readers.pool import JobReaders
from shoal.engine.reading.asset_requests import offer_assets
from shoal.engine.reading.conditional_recrawl import CONDITION_REFUSED, NOT_MODIFIED, KnownPage
from shoal.engine.reading.page_record import fetched_record
from shoal.engine.reading.page_worth import GONE, learn_from_page
from shoal.engine.reading.parse_page import is_read_here
from shoal.engine.reading.read_html import keep_content, read_html
from shoal.engine.reading.redirects import follow_redirect
from shoal.engine.reading.retry_policy import retry_wait_s, verdict
from shoal.engine.reading.sitemap_requests import listing_of
from shoal.engine.reading.unchanged_page import note_change, unchanged_page
from shoal.engine.reading.unwanted_types import drop_unwanted
from shoal.engine.request_result import Listing, RequestResult
from shoal.engine.shape_statistics import Worth
from shoal.extract.html_tags import HTML_TYPES
from shoal.fetch.exchange import Exchange, Failure, FailureKind
from shoal.model import LAST, Canonical, Completion, Lease, Outcome, PageRecord, Render
from shoal.model.request_options import identity_of
from shoal.urls import fingerprint


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
    change = active_job.credentials.given_cookies.change(hostname, answer.headers.get_all("set-cookie"))
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
            await note_change(done.record, known)
        if active_job.spec.canonical is Canonical.MERGE:
            _set_merge_key(done)
        return done
    if outcome is Outcome.REDIRECT and isinstance(answer, Exchange):
        return follow_redirect(active_job, lease, answer)
    kind, status, detail = _described(answer)
    if outcome is Outcome.DROP:
        return request_result.drop(lease, kind, detail)
    if outcome is Outcome.RETRY:
        return _failed(active_job, lease, kind, status, detail)
    return request_result.dead(lease, kind, status, detail)


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
    record = fetched_record(active_job, lease, answer, known)
    done = RequestResult(lease, Completion(lease.token, Outcome.DONE, bytes=answer.wire_bytes), record)
    if answer.fault is not None:
        kind = "broken_coding" if answer.rendered is None else "unfinished"
        done.failed, done.why = (kind, answer.status), answer.fault
    if answer.status == NOT_MODIFIED and reusable is not None:
        return await unchanged_page(active_job, done, record, reusable, readers)
    is_good = 200 <= answer.status < 300
    if lease.trail.callback == SITEMAP:
        done.listing = Listing.SITEMAP if is_good else None
        return done
    if not is_good and not is_wanted(lease, answer):
        if answer.status in GONE:
            learn_from_page(active_job, lease, Worth.USELESS)
        return done
    if active_job.spec.assets:
        await offer_assets(active_job, done, record, answer)
    if lease.trail.is_asset:
        return done
    if is_good and (listing := listing_of(active_job, lease, record.content_type, answer.body)):
        done.listing = listing
        return done
    if active_job.callbacks is not None:
        if active_job.spec.text_beside_items:
            await keep_content(active_job, done, record, answer, readers)
        return await active_job.callbacks.interpret(active_job, done, record, answer, readers)
    if record.content_type in HTML_TYPES:
        await read_html(active_job, done, record, answer, readers)
    return done


def _described(answer: Exchange | Failure) -> tuple[str, int | None, str]:
    """Kind, status and a text for a person."""
    if isinstance(answer, Failure):
        return answer.kind.value, None, answer.detail
    return "http", answer.status, f"answered {answer.status} {answer.reason}".rstrip()
