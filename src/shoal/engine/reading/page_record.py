"""Makes the record of a page from its response, without what is in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.engine.active_job import ActiveJob, session_of
from shoal.engine.reading.http_validators import entity_tag, modified_at
from shoal.extract.link_header import linked_as
from shoal.extract.robots_directives import robots_of_header
from shoal.fetch.exchange import Exchange
from shoal.model import Lease, PageRecord
from shoal.store.archive.warc import digest
from shoal.store.crawl.save_batch import BROWSER

if TYPE_CHECKING:
    from shoal.engine.reading.conditional_recrawl import KnownPage

UNCHECKED = "http-insecure"
"""How a page of a job with --insecure was fetched."""


def fetched_record(active_job: ActiveJob, lease: Lease, answer: Exchange, known: KnownPage | None) -> PageRecord:
    """With how the page was fetched, and what its headers ask for."""
    record = page_record(lease, answer)
    if active_job.spec.insecure and record.url.startswith("https:"):
        record.via = UNCHECKED
    if answer.rendered is not None:
        record.via = BROWSER
    if answer.proxy:
        record.via = f"{record.via} via {answer.proxy}"
    # Those of a rendered page are its document's, which may stay the same while what its scripts load changes. With
    # those of an incomplete page, a refresh would keep it for as long as the full one stays the same.
    if answer.rendered is not None or answer.fault is not None:
        record.etag = record.last_modified = None
    _apply_headers(active_job, record, answer)
    if known is not None:
        record.changed = record.digest != known.page.digest
    return record


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
        content_type=_content_type(answer),
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


def _content_type(answer: Exchange) -> str:
    """The declared type, or text/html by the first byte if none is declared. Some servers and proxies send it twice."""
    declared = answer.headers.get("content-type").partition(";")[0].partition(",")[0].strip().lower()
    if "/" in declared:
        return declared
    return "text/html" if answer.body[:512].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<" else declared


def _apply_headers(active_job: ActiveJob, record: PageRecord, answer: Exchange) -> None:
    if "x-robots-tag" in answer.headers:
        asked = robots_of_header(robots_header(answer), active_job.token)
        record.noindex, record.nofollow = asked.noindex, asked.nofollow
    if "link" in answer.headers:
        named = linked_as("canonical", ",".join(answer.headers.get_all("link")))
        record.canonical = active_job.resolver.link(record.url, named).url if named else None


def robots_header(answer: Exchange) -> str:
    return "\n".join(answer.headers.get_all("x-robots-tag"))
